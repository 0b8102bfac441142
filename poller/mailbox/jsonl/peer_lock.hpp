// Some copies of the public programs hold a lock around each reading and writing of an inbox, flock(2) on
// `locks/inbox-<name>.lock` beside the inboxes. Where that folder is, we hold it too while we write or empty; a lease,
// which others need not know of, is what is relied on. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <optional>
#include <string>

#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// Held until it goes; nothing where there are no such locks, or none to be had. "io.EAGAIN" while a peer has it.
Result<std::optional<File>> peer_lock(FileSystem& files, const Directory& inboxes, const std::string& box);

}  // namespace inbox_poller::poller

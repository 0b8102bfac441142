// The lock of some public programs: flock(2) on `locks/inbox-<name>.lock` next to the inboxes, around each access.
// If that directory exists, the daemon holds the lock while it writes or empties an inbox. Correctness does not depend
// on the lock; it depends on the file lease, which needs no cooperation. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <optional>
#include <string>

#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// Takes the peers' lock of this inbox; the lock is held until the returned file is closed. Returns empty if the
/// directory is missing or the lock cannot be opened. Errors: "io.EAGAIN" while a peer holds the lock.
Result<std::optional<File>> peer_lock(FileSystem& files, const Directory& inboxes, const std::string& box);

}  // namespace inbox_poller::poller

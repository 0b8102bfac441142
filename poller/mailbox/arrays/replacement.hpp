// Putting a new version of a file in the place of the one that was read, under its lock, if it is still that one; and
// the outcomes that this and its surroundings can have. Invariant: the new bytes are on the disk before the lock is
// taken; under it there is a look and an exchange of names. Source: docs/reference/wire.md W14.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/mailbox/arrays/inbox_file.hpp"
#include "poller/mailbox/arrays/lock_directory.hpp"

namespace inbox_poller::poller {

inline constexpr std::string_view inbox_suffix = ".json";
inline std::string inbox_file_name(const std::string& inbox) { return inbox + std::string(inbox_suffix); }
/// The lock of a file lies beside it.
inline std::string lock_name(const std::string& file) { return file + ".lock"; }

WriteResult stopped(WriteOutcome outcome, std::string detail);
WriteResult no_inbox_name(const std::string& inbox);
WriteResult stopped_by(const Error& error);
WriteResult stopped_by(const Snapshot& snapshot);
WriteResult not_locked(const LockAttempt& attempt);
/// For people: joined with "; ".
void add_detail(std::string& detail, std::string_view more);

/// The new version, if the file is still what the snapshot saw and the lock still ours; `changed` otherwise.
WriteResult swap_in(FileSystem& files, const Directory& folder, const std::string& file, const Snapshot& snapshot,
                    const HeldLock& lock, TemporaryFile& temporary);

/// All of it for one file. Takes the lock itself unless given one. Lasting only after sync_dir().
WriteResult replace(FileSystem& files, LockDirectory& locks, const Directory& folder, const std::string& file,
                    const Snapshot& snapshot, std::string_view wanted, std::optional<HeldLock> lock = std::nullopt);

/// Removes the temporary files of dead processes, and our own: to be called while none of ours is in use.
void remove_litter(FileSystem& files, const Directory& folder, const std::vector<std::string>& names);

}  // namespace inbox_poller::poller

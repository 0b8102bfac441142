// Replacement of a file by a new version under its lock, if the file is still the version that was read. Also
// conversions of faults to outcomes.
// Invariant: the new bytes are on the disk before the lock is taken. Under the lock there is one check and one
// exchange of names. Source: docs/reference/wire.md W14.
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
/// Returns the name of a file's lock, which lies in the same folder.
inline std::string lock_name(const std::string& file) { return file + ".lock"; }

WriteResult stopped(WriteOutcome outcome, std::string detail);
WriteResult no_inbox_name(const std::string& inbox);
WriteResult stopped_by(const Error& error);
WriteResult stopped_by(const Snapshot& snapshot);
WriteResult not_locked(const LockAttempt& attempt);
/// Appends to a text for people, joined with "; ".
void add_detail(std::string& detail, std::string_view more);

/// Puts the new version in place, if the file is still as in the snapshot and the lock still ours; `changed`
/// otherwise.
WriteResult swap_in(FileSystem& files, const Directory& folder, const std::string& file, const Snapshot& snapshot,
                    const HeldLock& lock, TemporaryFile& temporary);

/// Writes and puts in place a new version of one file. Takes the lock itself unless given one. Durable only after
/// sync_dir().
WriteResult replace(FileSystem& files, LockDirectory& locks, const Directory& folder, const std::string& file,
                    const Snapshot& snapshot, std::string_view wanted, std::optional<HeldLock> lock = std::nullopt);

/// Removes temporary files of dead processes and of this process. Call it only while none of ours is in use.
void remove_litter(FileSystem& files, const Directory& folder, const std::vector<std::string>& names);

}  // namespace inbox_poller::poller

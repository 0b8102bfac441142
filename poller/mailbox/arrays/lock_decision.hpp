// Decision about an entry at a lock path, from its attributes and the time for which they have not changed. A lock of
// our protocol is a directory, which its holder touches every 5 s. A lock is abandoned when the same (inode, mtime)
// was seen for long enough on our own monotonic clock. Neither a jump of the wall clock nor an mtime in the future
// (which locks out every peer for good) affects that.
// Source: docs/reference/wire.md W9, W12 (other tools' lock files).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// Age at which an unchanged directory has no holder: two missed touches, and the limit of all known peers.
inline constexpr std::chrono::seconds stale_after{10};
/// Age up to which another tool's lock file is left alone, whatever its content. Such a file normally exists for
/// milliseconds.
inline constexpr std::chrono::seconds foreign_patience{5};
/// Age at which a lock file is removed even if its maker is unknown, because real clients can never write past it.
inline constexpr std::chrono::seconds foreign_stale_after{30};
/// Size limit of a lock file in bytes; a larger file is not a lock and is never removed.
inline constexpr std::uint64_t foreign_file_limit = 4096;  // bytes

/// Longest time that counts between two checks. Our process may have been stopped together with the holder (a frozen
/// container, a suspended machine). The holder then gets time to touch its lock after both continue.
inline constexpr std::chrono::seconds longest_gap{5};

/// An entry at a lock path and the time since when it is unchanged. Time without checks is left out.
struct LockObservation {
  FileStat seen;
  SteadyTime since{};
  SteadyTime last{};  // steady clock; the last check
};

/// True if both stats show the same, untouched entry.
bool same_lock(const FileStat&, const FileStat&);

/// Returns the observation after one more check: continued if nothing changed, a new one otherwise.
LockObservation observe(const std::optional<LockObservation>& before, const FileStat& seen, SteadyTime now);

enum class LockStep {
  wait,          // a holder may be active
  take_over,     // an abandoned directory: remove it and try again
  examine_file,  // another tool's lock file, old enough to remove if it names a dead process
  remove_file,   // another tool's lock file, forgotten
  refuse,        // an entry that is never removed: a person has to check it
};

LockStep decide(const LockObservation&, SteadyTime now);

/// Returns the process id in another tool's lock file: the number at its start, or the value of "pid" in a JSON
/// object.
std::optional<int> pid_in_lock_file(std::string_view content);

}  // namespace inbox_poller::poller

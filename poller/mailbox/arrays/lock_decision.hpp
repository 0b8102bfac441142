// What to do about something that stands at a lock path: pure, from what was seen and for how long it has not changed.
// A lock of our protocol is a directory; its holder touches it every 5 s. "Abandoned" is judged on our own monotonic
// clock, by the same (inode, mtime) having been seen for long enough: neither a wall clock that jumps nor an mtime in
// the future (which locks every peer out for good) can fool that. Source: docs/reference/wire.md W9, W12 (other tools'
// lock files).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// A directory unchanged for this long has no holder: two missed touches, and the time all known peers agree on.
inline constexpr std::chrono::seconds stale_after{10};
/// A lock file of another tool is left alone for this long whatever is in it: it is normally gone within milliseconds.
inline constexpr std::chrono::seconds foreign_patience{5};
/// After this long a lock file is removed even if we cannot tell who made it: real clients can never write past it.
inline constexpr std::chrono::seconds foreign_stale_after{30};
/// A file larger than this is nobody's lock; it is never removed.
inline constexpr std::uint64_t foreign_file_limit = 4096;  // bytes

/// Between two looks no more than this counts. We may have been stopped together with the holder (a frozen container, a
/// machine that was put aside); it gets the time to touch its lock when it goes on.
inline constexpr std::chrono::seconds longest_gap{5};

/// Something at a lock path, and since when it has been there unchanged, without the time that we did not look.
struct LockObservation {
  FileStat seen;
  SteadyTime since{};
  SteadyTime last{};  // when it was looked at
};

/// True if both looks saw the same, untouched thing.
bool same_lock(const FileStat&, const FileStat&);

/// The observation after one more look: continued when nothing changed, begun anew otherwise.
LockObservation observe(const std::optional<LockObservation>& before, const FileStat& seen, SteadyTime now);

enum class LockStep {
  wait,          // somebody is at work, as far as we can tell
  take_over,     // an abandoned directory: remove it and try again
  examine_file,  // another tool's lock file, long enough there: remove it if it names a process that is dead
  remove_file,   // another tool's lock file, forgotten
  refuse,        // nothing we would ever remove: a person has to look
};

LockStep decide(const LockObservation&, SteadyTime now);

/// The process named in another tool's lock file: the number at its start, or the value of "pid" in a JSON object.
std::optional<int> pid_in_lock_file(std::string_view content);

}  // namespace inbox_poller::poller

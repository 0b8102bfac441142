// Which version of a file or folder a look met, and whether a later look can tell it from the next. A stat is all it
// needs. Source: docs/reference/wire.md W13 (peers rewrite in place or by rename).
#pragma once

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// What a stat tells about the contents. ctime is part of it because nobody can set it back; mtime can be.
struct FileVersion {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FileVersion&) const = default;
};

FileVersion version_of(const FileStat&);

/// The same file under another name, as far as a stat tells.
bool has_same_bytes(const FileVersion& now, const FileVersion& before);

/// True if every write from `wall_now` on must give another version. File systems stamp times in ticks (up to 2 s), so
/// two writes within a tick look the same; a version whose last change lies a full tick back cannot be met again. Safe
/// with a wall clock that jumps: a change time in the future counts as young (costs a read), and after a jump forward
/// the next write is stamped later still. Only a jump back to the very tick of the last change would deceive.
bool is_settled(const FileVersion&, EpochMs wall_now);

/// The same of a version that was there so long ago already, which no clock that anybody sets has a part in. Stamps
/// that are finer than a millisecond come from a clock that ticks every 10 ms or faster (Linux, APFS, NTFS), so it
/// takes less time to tell two of them apart.
bool is_settled(const FileVersion&, SteadyTime::duration known_for);

}  // namespace inbox_poller::poller

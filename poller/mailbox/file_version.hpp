// Version of a file or folder at one moment, and whether a later stat can distinguish that version from the next one.
// A stat is all that is needed. Source: docs/reference/wire.md W13 (peers rewrite in place or by rename).
#pragma once

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

/// Attributes of a stat that identify the contents. ctime is included because no program can set it back; mtime can
/// be.
struct FileVersion {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FileVersion&) const = default;
};

FileVersion version_of(const FileStat&);

/// True if both are the same file, perhaps under another name, as far as a stat can tell.
bool has_same_bytes(const FileVersion& now, const FileVersion& before);

/// True if every write from `wall_now` on must give another version. File systems stamp times in ticks (up to 2 s), so
/// two writes within a tick look the same. A version whose last change lies a full tick back cannot occur again. A
/// jump of the wall clock is safe: a change time in the future counts as young, which costs a read. After a jump
/// forward the next write has a still later stamp. Only a jump back to the very tick of the last change would deceive.
bool is_settled(const FileVersion&, EpochMs wall_now);

/// True if every later write must give another version, for a version first seen `known_for` ago on the steady clock.
/// No change of the wall clock affects the result. Stamps finer than a millisecond come from a clock that ticks every
/// 10 ms or faster (Linux, APFS, NTFS). They need only 100 ms.
bool is_settled(const FileVersion&, SteadyTime::duration known_for);

}  // namespace inbox_poller::poller

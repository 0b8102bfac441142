#include "poller/mailbox/file_version.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::int64_t longest_tick_ms = 2000;               // FAT and HFS+ are the coarsest
constexpr std::chrono::milliseconds longest_fine_tick{100};  // ten times the longest of Linux

}  // namespace

FileVersion version_of(const FileStat& stat) { return {stat.dev, stat.ino, stat.size, stat.mtime_ns, stat.ctime_ns}; }

bool has_same_bytes(const FileVersion& now, const FileVersion& before) {
  FileVersion renamed = before;
  renamed.ctime_ns = now.ctime_ns;  // a rename alone changes it
  return now == renamed;
}

bool is_settled(const FileVersion& version, EpochMs wall_now) {
  return wall_now - version.ctime_ns / 1'000'000 >= longest_tick_ms;
}

bool is_settled(const FileVersion& version, SteadyTime::duration known_for) {
  const bool is_fine = version.ctime_ns % 1'000'000 != 0;
  return is_fine && known_for >= longest_fine_tick;
}

}  // namespace inbox_poller::poller

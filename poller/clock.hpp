// The interface to time. Deadlines, intervals and stale locks use the monotonic clock. Recorded times use the wall
// clock as read at the start, advanced evenly. Setting the system clock later does not age recorded times.
#pragma once

#include <time.h>

#include <chrono>

namespace inbox_poller::poller {

using SteadyTime = std::chrono::steady_clock::time_point;
/// Milliseconds since the Unix epoch.
using EpochMs = long long;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime steady() const = 0;
  /// The present for records, in milliseconds since the Unix epoch; advances evenly.
  [[nodiscard]] virtual EpochMs wall_ms() const = 0;
  /// The present by the system clock, which peers use for files and entries; may jump.
  [[nodiscard]] virtual EpochMs system_ms() const { return wall_ms(); }
  /// Does the same in nanoseconds, for names and stamps that order one sender's messages.
  [[nodiscard]] virtual long long system_ns() const { return system_ms() * 1'000'000; }
  /// Converts a peer's time to the scale of wall_ms().
  [[nodiscard]] EpochMs from_peer(EpochMs moment) const { return moment + (wall_ms() - system_ms()); }
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] EpochMs wall_ms() const override { return began_ms_ + (passed_ms() - began_at_ms_); }
  [[nodiscard]] EpochMs system_ms() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] long long system_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

 private:
  /// Includes the time that the machine sleeps, which counts for people. The monotonic clock of Linux leaves it out.
  static EpochMs passed_ms() {
#ifdef CLOCK_BOOTTIME
    timespec time{};
    if (::clock_gettime(CLOCK_BOOTTIME, &time) == 0)
      return static_cast<EpochMs>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
#endif
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  EpochMs began_ms_ = system_ms();
  EpochMs began_at_ms_ = passed_ms();
};

}  // namespace inbox_poller::poller

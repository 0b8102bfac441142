// The port to time. Deadlines, cadence and stale locks follow the monotonic clock. What is recorded and compared with
// later, over a restart too, follows the wall clock as it was when we started, and goes on evenly from there: whoever
// sets that clock while we run makes nothing older or younger.
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
  /// The present for whatever is recorded: never jumps.
  [[nodiscard]] virtual EpochMs wall_ms() const = 0;
  /// The present as the system and the peers have it, who stamp files and entries with it: may jump.
  [[nodiscard]] virtual EpochMs system_ms() const { return wall_ms(); }
  /// The same in nanoseconds, for names and stamps that tell the order of what one sender wrote.
  [[nodiscard]] virtual long long system_ns() const { return system_ms() * 1'000'000; }
  /// A moment that a peer wrote down, on the scale of wall_ms().
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
  /// Time that passes while the machine sleeps is time for people; the monotonic clock of Linux leaves it out.
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

// The port to time. Deadlines, cadence and stale locks follow the monotonic clock; the wall clock only stamps what
// people and peers read, and deadlines that must survive a restart.
#pragma once

#include <chrono>

namespace inbox_poller::poller {

using SteadyTime = std::chrono::steady_clock::time_point;
/// Milliseconds since the Unix epoch, by the wall clock.
using EpochMs = long long;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime steady() const = 0;
  [[nodiscard]] virtual EpochMs wall_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] EpochMs wall_ms() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace inbox_poller::poller

// A limit on how often a periodic task runs.
#pragma once

#include <chrono>

#include "poller/clock.hpp"

namespace inbox_poller::poller {

class Every {
 public:
  explicit Every(std::chrono::steady_clock::duration period) : period_(period) {}

  /// True when the task is due; then not again for a period.
  bool take(SteadyTime now) {
    if (now < next_) return false;
    next_ = now + period_;
    return true;
  }
  /// Makes the task due at the next take().
  void at_once() { next_ = {}; }
  /// Records that the task was just done, so that it is due after a period.
  void done(SteadyTime now) { next_ = now + period_; }

 private:
  std::chrono::steady_clock::duration period_;
  SteadyTime next_{};
};

}  // namespace inbox_poller::poller

// Something that is done at most once in a while, whoever asks how often.
#pragma once

#include <chrono>

#include "poller/clock.hpp"

namespace inbox_poller::poller {

class Every {
 public:
  explicit Every(std::chrono::steady_clock::duration period) : period_(period) {}

  /// True when it is to be done now; then not again for a period.
  bool take(SteadyTime now) {
    if (now < next_) return false;
    next_ = now + period_;
    return true;
  }
  /// At the next asking.
  void at_once() { next_ = {}; }
  /// It was just done: not before a period has passed.
  void done(SteadyTime now) { next_ = now + period_; }

 private:
  std::chrono::steady_clock::duration period_;
  SteadyTime next_{};
};

}  // namespace inbox_poller::poller

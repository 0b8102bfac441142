// Rotation of stat checks among idle inboxes. While a watcher reports changes, each inbox is checked once in five
// seconds; in doubt, each is checked at every poll. Source: docs/adr/0031-looks-in-turn.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "poller/clock.hpp"

namespace inbox_poller::poller {

class ScanRotation {
 public:
  static constexpr SteadyTime::duration once_around = std::chrono::seconds(5);

  /// Sets the time between polls: the rotation comes around in `once_around`. Zero: every index has its turn at each
  /// poll.
  void take(SteadyTime::duration interval) { between_ = interval; }
  [[nodiscard]] bool are_taken() const { return between_ > SteadyTime::duration(); }

  /// Half-open range of indexes.
  struct Range {
    std::size_t first, behind;
    [[nodiscard]] bool has(std::size_t index) const { return index >= first && index < behind; }
  };
  /// Returns the range for the next poll among `count` items.
  Range next(std::size_t count) {
    if (!are_taken()) return {0, count};
    const auto looks = static_cast<std::size_t>(std::max<std::int64_t>(once_around / between_, 1));
    const std::size_t first = next_ < count ? next_ : 0;
    next_ = std::min(first + (count + looks - 1) / looks, count);
    return {first, next_};
  }

 private:
  SteadyTime::duration between_{};  // zero: no rotation
  std::size_t next_ = 0;
};

}  // namespace inbox_poller::poller

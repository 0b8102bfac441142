// Whose turn it is to be looked at, among what rests: where somebody tells of changes, each is looked at once in five
// seconds, and at every look where that is in doubt. Source: docs/adr/0031-looks-in-turn.md.
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

  /// From now on looks `interval` apart come around in `once_around`; zero: all have their turn at each look.
  void take(SteadyTime::duration interval) { between_ = interval; }
  [[nodiscard]] bool are_taken() const { return between_ > SteadyTime::duration(); }

  /// Indexes.
  struct Range {
    std::size_t first, behind;
    [[nodiscard]] bool has(std::size_t index) const { return index >= first && index < behind; }
  };
  /// Those of the next look, among so many.
  Range next(std::size_t count) {
    if (!are_taken()) return {0, count};
    const auto looks = static_cast<std::size_t>(std::max<std::int64_t>(once_around / between_, 1));
    const std::size_t first = next_ < count ? next_ : 0;
    next_ = std::min(first + (count + looks - 1) / looks, count);
    return {first, next_};
  }

 private:
  SteadyTime::duration between_{};  // zero: they are not taken
  std::size_t next_ = 0;
};

}  // namespace inbox_poller::poller

// The slice that the usual run takes of a sweep over numbered points, as tests/support/portion.py does. LONG=1 takes every point.
// The seed is TEST_SEED, or a fixed number, and is printed. Two slices of one seed are equal.
#pragma once

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace inbox_poller::test {

/// Returns whether the long form of the checks runs (tests/long.py).
inline bool is_long_form() {
  const char* value = std::getenv("LONG");
  return value != nullptr && std::string(value) == "1";
}

/// Returns the seed of this run; prints it at the first call.
inline unsigned portion_seed() {
  static const unsigned seed = [] {
    const char* given = std::getenv("TEST_SEED");
    const auto number = given == nullptr ? 20'260'207U : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
    std::cout << "TEST_SEED=" << number << " repeats it" << std::endl;
    return number;
  }();
  return seed;
}

/// The points 1, 2, 3 … of a sweep whose end is not known before: one drawn of each `step` of them, in their order.
class Points {
 public:
  explicit Points(int step, unsigned seed = portion_seed()) : step_(step), random_(seed) {}
  /// Returns the next point; the points never end.
  int next() {
    const int first = done_;
    done_ += step_;
    return first + 1 + static_cast<int>(random_() % static_cast<unsigned>(step_));
  }

 private:
  int step_;
  int done_ = 0;
  std::minstd_rand random_;
};

}  // namespace inbox_poller::test

// The only source of chance of a simulated world: one sequence from one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "tests/sim/virtual_time.hpp"

namespace inbox_poller::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Returns a whole number of [0, count). Not std::uniform_int_distribution, whose sequence differs by library.
  std::uint64_t below(std::uint64_t count) { return count == 0 ? 0 : engine_() % count; }
  /// True once in `times`; never for 0.
  bool one_in(std::uint64_t times) { return times != 0 && below(times) == 0; }
  Span between(Span least, Span most) {
    // Whole microseconds, because Asio waits for less than one without end.
    const auto range = std::chrono::duration_cast<std::chrono::microseconds>(most - least).count();
    return least + std::chrono::microseconds(below(static_cast<std::uint64_t>(range) + 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace inbox_poller::sim

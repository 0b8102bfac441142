// The one limit of the unit tests, and the waits that use it. A condition decides; the limit only ends a test that hangs.
// It is no measure of speed: no test asserts that something took less than a time.
#pragma once

#include <chrono>
#include <cstdlib>
#include <thread>

namespace inbox_poller::test {

/// Returns the limit of every wait: five minutes, times TEST_PATIENCE.
inline std::chrono::milliseconds wait_limit() {
  const char* factor = std::getenv("TEST_PATIENCE");
  const double times = factor == nullptr ? 1.0 : std::strtod(factor, nullptr);
  return std::chrono::milliseconds(static_cast<long long>(300'000 * (times > 0 ? times : 1.0)));
}

/// Calls `step` until `condition` holds. Returns false after the limit. `step` runs a loop, or lets time pass.
template <class Condition, class Step>
bool holds_after(Condition condition, Step step) {
  const auto until = std::chrono::steady_clock::now() + wait_limit();  // clock: the safety net itself; a condition decides
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;  // clock: the safety net itself; a condition decides
    step();
  }
  return true;
}

/// Waits until `condition` holds, for what another thread or process does. Returns false after the limit.
template <class Condition>
bool holds_at_last(Condition condition) {
  return holds_after(condition, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // clock: the pause between two checks of a condition
  });
}

}  // namespace inbox_poller::test

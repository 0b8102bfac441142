// The time of a simulated world. One thread has it, and it moves only when that thread waits or is charged for a call.
// The program's clock functions (std::chrono, epoll_wait, timerfd) are replaced at link time, so that the product and
// Asio are compiled as they are (docs/adr/0065-simulated-time-below-asio.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "poller/clock.hpp"

namespace inbox_poller::sim {

using Span = std::chrono::nanoseconds;

/// Monotonic time since the start of the world.
Span now();
void set_now(Span);
inline void pass(Span span) { set_now(now() + span); }

/// Difference between the system clock and an even clock. A person or NTP changes it.
Span clock_error();
void set_clock_error(Span);

/// Restarts time, randomness, the process number and the list of closed files for a new history.
void begin_world(std::uint64_t seed);
/// The number that getpid() returns from now on.
void set_process(int pid);
/// Called with each simulated descriptor that is closed.
void on_close(std::function<void(int)>);

/// Descriptors of simulated files begin here; the kernel never gives so high a number.
inline constexpr int first_descriptor = 1'000'000'000;

/// Milliseconds since the Unix epoch by the system clock that peers see.
poller::EpochMs system_ms();
std::int64_t system_ns();

/// The clock of one daemon: the wall clock as read at its start, advanced evenly.
class VirtualClock final : public poller::Clock {
 public:
  VirtualClock();
  [[nodiscard]] poller::SteadyTime steady() const override;
  [[nodiscard]] poller::EpochMs wall_ms() const override;
  [[nodiscard]] poller::EpochMs system_ms() const override;
  [[nodiscard]] long long system_ns() const override;

 private:
  Span began_error_;
};

}  // namespace inbox_poller::sim

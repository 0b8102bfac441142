// The time of a simulated world. One thread has it, and it moves only when that thread waits or is charged for a call.
// The program's clock functions (std::chrono, epoll_wait, timerfd) are replaced at link time, so that the product and
// Asio are compiled as they are (docs/adr/0065-simulated-time-below-asio.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "poller/clock.hpp"

namespace inbox_poller::sim {

using Span = std::chrono::nanoseconds;

/// Monotonic time since the start of the world.
Span now();
void set_now(Span);
inline void pass(Span span) { set_now(now() + span); }

/// The clock and the process number of one machine.
struct Host {
  Span clock_error{};  // of the system clock, against an even clock. A person or NTP changes it
  int process = 0;     // getpid() returns a number for it
};
/// Makes a host the one whose clock and process number the program sees, until the end of a scope. Scopes may nest.
class Inside {
 public:
  explicit Inside(Host& host);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Host* before_;
};

/// Restarts time and randomness for a new history.
void begin_world(std::uint64_t seed);
/// Registers what is called with each descriptor that is closed; an empty function unregisters it.
void on_close(const void* owner, std::function<void(int)> closed);

/// Decides until the end of a scope whether a wait is refused, or lets virtual time pass. Scopes may nest, because other
/// machines go on while one stands still. A refused wait ends at once, and a run of Asio whose deadline is of this clock
/// ends with it.
class Waits {
 public:
  using duration = Span;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Waits>;
  static constexpr bool is_steady = true;

  explicit Waits(bool refused);
  ~Waits();
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  /// Virtual time, and past every deadline once a wait was refused.
  static time_point now();
  /// The refused wait of this scope.
  [[nodiscard]] static std::optional<Span> refused();

 private:
  bool before_;
  std::optional<Span> refused_before_;
};

/// Descriptors of simulated files begin here; the kernel never gives so high a number.
inline constexpr int first_descriptor = 1'000'000'000;
int next_descriptor();

/// Milliseconds since the Unix epoch by the system clock of the present host.
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

// clock: whole file: this file replaces the clocks themselves
#include "tests/sim/virtual_time.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

namespace inbox_poller::sim {
namespace {

constexpr Span start_of_steady = std::chrono::hours(1000);
constexpr std::int64_t start_of_epoch_ns = 1'790'000'000'000'000'000;  // 2026-09-21T14:13:20Z
constexpr int first_process = 5'000'000;  // above pid_max of Linux, so that no such process lives

struct State {
  Span now{};
  Span error{};
  std::uint64_t random = 1;
  int pid = first_process;
  std::function<void(int)> closed;
};
State& state() {
  static State one;
  return one;
}

std::uint64_t next_random() {
  std::uint64_t value = (state().random += 0x9e3779b97f4a7c15ULL);  // splitmix64
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

}  // namespace

Span now() { return state().now; }
void set_now(Span moment) { state().now = moment; }
Span clock_error() { return state().error; }
void set_clock_error(Span error) { state().error = error; }
void set_process(int pid) { state().pid = first_process + pid; }
void on_close(std::function<void(int)> closed) { state().closed = std::move(closed); }

void begin_world(std::uint64_t seed) {
  auto closed = std::move(state().closed);
  state() = State{};
  state().random = seed;
  state().closed = std::move(closed);
}

std::int64_t system_ns() { return start_of_epoch_ns + (state().now + state().error).count(); }
poller::EpochMs system_ms() { return system_ns() / 1'000'000; }

VirtualClock::VirtualClock() : began_error_(clock_error()) {}
poller::SteadyTime VirtualClock::steady() const { return std::chrono::steady_clock::now(); }
poller::EpochMs VirtualClock::wall_ms() const {
  return (start_of_epoch_ns + (sim::now() + began_error_).count()) / 1'000'000;
}
poller::EpochMs VirtualClock::system_ms() const { return sim::system_ms(); }
long long VirtualClock::system_ns() const { return sim::system_ns(); }

}  // namespace inbox_poller::sim

// --- what the linker takes instead of the libraries' own ---

std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  return time_point(inbox_poller::sim::start_of_steady + inbox_poller::sim::state().now);
}

std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
  return time_point(std::chrono::duration_cast<duration>(std::chrono::nanoseconds(inbox_poller::sim::system_ns())));
}

std::random_device::result_type std::random_device::_M_getval() {
  return static_cast<result_type>(inbox_poller::sim::next_random());
}

extern "C" {

/// A wait for `timeout` milliseconds passes at once. Real descriptors are asked without waiting.
int epoll_wait(int epfd, epoll_event* events, int most, int timeout) {
  const auto ready = static_cast<int>(::syscall(SYS_epoll_pwait, epfd, events, most, 0, nullptr, 8));
  if (ready != 0 || timeout == 0) return ready;
  constexpr int longest_ms = 300'000;  // Asio's own bound
  inbox_poller::sim::pass(std::chrono::milliseconds(timeout < 0 ? longest_ms : timeout));
  return 0;
}

/// Without a timerfd Asio hands each wait to epoll_wait(), where it is seen.
int timerfd_create(int, int) noexcept {
  errno = ENOSYS;
  return -1;
}

pid_t getpid() noexcept { return inbox_poller::sim::state().pid; }

int close(int fd) {
  if (fd < inbox_poller::sim::first_descriptor) return static_cast<int>(::syscall(SYS_close, fd));
  if (inbox_poller::sim::state().closed) inbox_poller::sim::state().closed(fd);
  return 0;
}
}

// clock: whole file: this file replaces the clocks themselves
#include "tests/sim/virtual_time.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <random>
#include <utility>

namespace inbox_poller::sim {
namespace {

constexpr Span start_of_steady = std::chrono::hours(1000);
constexpr std::int64_t start_of_epoch_ns = 1'790'000'000'000'000'000;  // 2026-09-21T14:13:20Z
constexpr int first_process = 5'000'000;  // above pid_max of Linux, so that no such process lives

struct State {
  Span now{};
  std::uint64_t random = 1;
  Host anywhere;
  Host* host = nullptr;
  bool refuses_waits = false;
  std::optional<Span> refused;
  int descriptor = first_descriptor;
  std::map<const void*, std::function<void(int)>> closed;
  Host& here() { return host == nullptr ? anywhere : *host; }
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
int next_descriptor() { return ++state().descriptor; }

Inside::Inside(Host& host) : before_(std::exchange(state().host, &host)) {}
Inside::~Inside() { state().host = before_; }

Waits::Waits(bool refused)
    : before_(std::exchange(state().refuses_waits, refused)), refused_before_(std::exchange(state().refused, std::nullopt)) {}
Waits::~Waits() {
  state().refuses_waits = before_;
  state().refused = refused_before_;
}
Waits::time_point Waits::now() { return state().refused ? time_point::max() : time_point(state().now); }
std::optional<Span> Waits::refused() { return state().refused; }

void on_close(const void* owner, std::function<void(int)> closed) {
  if (closed)
    state().closed[owner] = std::move(closed);
  else
    state().closed.erase(owner);
}

void begin_world(std::uint64_t seed) {
  state() = State{};
  state().random = seed;
}

std::int64_t system_ns() { return start_of_epoch_ns + (state().now + state().here().clock_error).count(); }
poller::EpochMs system_ms() { return system_ns() / 1'000'000; }

VirtualClock::VirtualClock() : began_error_(state().here().clock_error) {}
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
  const std::chrono::milliseconds wait(timeout < 0 ? longest_ms : timeout);
  if (inbox_poller::sim::state().refuses_waits)
    inbox_poller::sim::state().refused = wait;
  else
    inbox_poller::sim::pass(wait);
  return 0;
}

/// Without a timerfd Asio hands each wait to epoll_wait(), where it is seen.
int timerfd_create(int, int) noexcept {
  errno = ENOSYS;
  return -1;
}

pid_t getpid() noexcept {
  return inbox_poller::sim::first_process + inbox_poller::sim::state().here().process;
}

int close(int fd) {
  for (const auto& [owner, closed] : inbox_poller::sim::state().closed) closed(fd);
  return fd < inbox_poller::sim::first_descriptor ? static_cast<int>(::syscall(SYS_close, fd)) : 0;
}
}

#include "poller/pause.hpp"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <random>

namespace inbox_poller::poller {
namespace asio = boost::asio;

asio::steady_timer::time_point in_step(std::chrono::milliseconds duration) {
  const auto due = asio::steady_timer::clock_type::now() + duration;
  const std::chrono::nanoseconds step = std::max(duration, std::chrono::milliseconds(1));
  return due - std::min(due.time_since_epoch() % step, step / 10);
}

asio::awaitable<void> pause(std::chrono::milliseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> pause_jittered(std::chrono::milliseconds least, std::chrono::milliseconds most) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<long long> distribution(least.count(), most.count());
  co_await pause(std::chrono::milliseconds(distribution(random)));
}

void Signal::raise() {
  ++count_;
  for (auto* timer : waiting_) timer->cancel();
}

asio::awaitable<void> Signal::wait(std::uint64_t seen, std::chrono::milliseconds most) {
  if (count_ != seen) co_return;
  struct Place {
    Place(std::vector<asio::steady_timer*>& list, asio::steady_timer& timer) : waiting(list), own(&timer) {
      waiting.push_back(own);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { std::erase(waiting, own); }
    std::vector<asio::steady_timer*>& waiting;
    asio::steady_timer* own;
  };
  asio::steady_timer timer(co_await asio::this_coro::executor, in_step(most));
  const Place place(waiting_, timer);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace inbox_poller::poller

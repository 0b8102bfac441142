#include "poller/pause.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <random>

namespace inbox_poller::poller {
namespace asio = boost::asio;

asio::awaitable<void> pause(std::chrono::milliseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> pause_jittered(std::chrono::milliseconds least, std::chrono::milliseconds most) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<long long> distribution(least.count(), most.count());
  co_await pause(std::chrono::milliseconds(distribution(random)));
}

}  // namespace inbox_poller::poller

// Waiting without blocking the decision thread, and handing long work to the pool.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace inbox_poller::poller {

/// In this time, or up to a tenth of it sooner: all who wait for the same time again and again come to wake together,
/// also when a busy machine has driven them apart. To wake an idle process costs more than what it then does.
boost::asio::steady_timer::time_point in_step(std::chrono::milliseconds);

/// Waits for this long.
boost::asio::awaitable<void> pause(std::chrono::milliseconds);

/// Waits for a random time between the two, so that contenders for one lock do not march in step.
boost::asio::awaitable<void> pause_jittered(std::chrono::milliseconds least, std::chrono::milliseconds most);

/// Says to whoever waits that something is new, without saying what. Nothing is lost between a look and the wait after
/// it: who waits names the count that he saw before he looked. Waiters end before the Signal does.
class Signal {
 public:
  [[nodiscard]] std::uint64_t count() const { return count_; }
  void raise();
  /// Until the count is no longer `seen`, and at most this long (in step).
  boost::asio::awaitable<void> wait(std::uint64_t seen, std::chrono::milliseconds most);

 private:
  std::uint64_t count_ = 0;
  std::vector<boost::asio::steady_timer*> waiting_;
};

/// Runs `work` on the pool and comes back to the caller's executor with its result. Exceptions travel along.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> offload(boost::asio::thread_pool& pool, Work work) {
  auto task = [](Work moved) -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return moved(); };
  auto started = task(std::move(work));
  co_return co_await boost::asio::co_spawn(pool.get_executor(), std::move(started), boost::asio::use_awaitable);
}

}  // namespace inbox_poller::poller

// Waits that do not block the decision thread, and long work on the thread pool.
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

/// Returns the end of a wait, moved earlier by up to a tenth, so that periodic waits of one length end together, also
/// after delays. Waking an idle process costs more than its work.
boost::asio::steady_timer::time_point in_step(std::chrono::milliseconds);

/// Waits for this time.
boost::asio::awaitable<void> pause(std::chrono::milliseconds);

/// Waits for a random time between the two, so that contenders for a lock do not collide again and again.
boost::asio::awaitable<void> pause_jittered(std::chrono::milliseconds least, std::chrono::milliseconds most);

/// A signal that something is new, without details. A waiter passes the count from before its check, so that no signal
/// between check and wait is lost. All waiters must end before the Signal.
class Signal {
 public:
  [[nodiscard]] std::uint64_t count() const { return count_; }
  void raise();
  /// Waits until the count differs from `seen`, at most this long (see in_step()).
  boost::asio::awaitable<void> wait(std::uint64_t seen, std::chrono::milliseconds most);

 private:
  std::uint64_t count_ = 0;
  std::vector<boost::asio::steady_timer*> waiting_;
};

/// Runs `work` on the pool, without one at once, and resumes on the caller's executor with its result or exception.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> offload(boost::asio::thread_pool* pool, Work work) {
  if (pool == nullptr) co_return work();
  auto task = [](Work moved) -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return moved(); };
  auto started = task(std::move(work));
  co_return co_await boost::asio::co_spawn(pool->get_executor(), std::move(started), boost::asio::use_awaitable);
}

}  // namespace inbox_poller::poller

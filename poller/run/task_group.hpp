// A group of coroutines, none of them detached. The group keeps the first exception, and join() throws it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <utility>

namespace inbox_poller::poller {

class TaskGroup {
 public:
  /// `on_failure` is called once, when the first task ends by an exception; it should make the others end.
  TaskGroup(boost::asio::any_io_executor executor, std::function<void()> on_failure)
      : executor_(std::move(executor)), changed_(executor_), on_failure_(std::move(on_failure)) {}

  void spawn(boost::asio::awaitable<void> task) {
    ++running_;
    boost::asio::co_spawn(executor_, std::move(task), [this](std::exception_ptr failure) {
      --running_;
      if (failure && !failure_) {
        failure_ = failure;
        if (on_failure_) on_failure_();
      }
      changed_.cancel();
    });
  }

  /// Waits until every task has ended; throws the first exception of a task.
  boost::asio::awaitable<void> join() {
    while (running_ > 0) {
      changed_.expires_at(std::chrono::steady_clock::time_point::max());
      boost::system::error_code woken;
      co_await changed_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer changed_;
  std::function<void()> on_failure_;
  int running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace inbox_poller::poller

// Runs one coroutine to its end on an io_context of its own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>

namespace inbox_poller::test {

/// Keeps the result, which co_spawn could only hand over if there were an empty one.
template <class T>
boost::asio::awaitable<void> keep_result(boost::asio::awaitable<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

template <class T>
T run_awaitable(boost::asio::awaitable<T> task) {
  boost::asio::io_context context{1};
  std::optional<T> result;
  std::exception_ptr failure;
  boost::asio::co_spawn(context, keep_result(std::move(task), result),
                        [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return *std::move(result);
}

}  // namespace inbox_poller::test

#include "poller/broker/redis_caller.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

namespace inbox_poller::poller {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds one_call{10'000};

asio::awaitable<void> keep(asio::awaitable<Result<RedisReply>> call, std::optional<Result<RedisReply>>& into) {
  into.emplace(co_await std::move(call));
}

}  // namespace

template <class Make>
Result<RedisReply> RedisCaller::again_and_again(Make make) {
  const auto until = steady_clock::now() + patience_;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    std::optional<Result<RedisReply>> reply;
    std::exception_ptr failure;
    asio::co_spawn(loop_, keep(make(std::clamp(left, milliseconds(50), one_call)), reply),
                   [&](std::exception_ptr thrown) { failure = thrown; });
    loop_.restart();
    while (!reply && !failure && loop_.run_one() > 0) {
    }
    if (failure) std::rethrow_exception(failure);
    if (*reply || reply->error().code != "redis.down" || steady_clock::now() >= until) return *std::move(reply);
  }
}

Result<RedisReply> RedisCaller::call(const RedisScript& script, const std::vector<std::string>& keys,
                                     const std::vector<std::string>& arguments) {
  return again_and_again([&](milliseconds within) { return connection_.call(script, keys, arguments, within); });
}

Result<RedisReply> RedisCaller::call(const RedisCommand& command) {
  return again_and_again([&](milliseconds within) { return connection_.call(command, within); });
}

}  // namespace inbox_poller::poller

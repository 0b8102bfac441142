// Blocking calls to Redis for a program without an event loop. A call is retried while Redis is unreachable, until
// `patience` is over. A call may therefore run twice, so commands and scripts must be idempotent.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "poller/broker/redis_connection.hpp"

namespace inbox_poller::poller {

/// Blocking client of one Redis. One thread at a time; errors are those of broker.hpp.
class RedisCaller {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Does not connect; the first call does. `patience`: how long a call is retried after "redis.down".
  RedisCaller(config::RedisAddress address, milliseconds patience)
      : connection_(loop_.get_executor(), std::move(address)), patience_(patience) {}

  /// Runs a script, or a command, and blocks until the reply. One attempt takes at most 10 s.
  Result<RedisReply> call(const RedisScript&, const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments);
  Result<RedisReply> call(const RedisCommand&);

  /// Changes the retry time of the calls that follow.
  void set_patience(milliseconds patience) { patience_ = patience; }
  [[nodiscard]] const RedisConnection& connection() const { return connection_; }

 private:
  template <class Make>
  Result<RedisReply> again_and_again(Make make);

  boost::asio::io_context loop_{1};
  RedisConnection connection_;
  milliseconds patience_;
};

}  // namespace inbox_poller::poller

// Redis for a program that does one thing after another: each call is waited for here, and made again while the engine
// is away, for as long as the caller's patience lasts. All that is called so may be carried out twice.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "poller/broker/redis_connection.hpp"

namespace inbox_poller::poller {

class RedisCaller {
 public:
  using milliseconds = std::chrono::milliseconds;

  RedisCaller(config::EngineAddress address, milliseconds patience)
      : connection_(loop_.get_executor(), std::move(address)), patience_(patience) {}

  Result<RedisReply> call(const RedisScript&, const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments);
  Result<RedisReply> call(const RedisCommand&);

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

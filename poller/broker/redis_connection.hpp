// One connection to Redis that reconnects by itself. Connecting logs in and rejects a Redis that would lose confirmed
// data. Failures cause a back-off (100 ms to 5 s). Each call ends at its deadline. Calls of several coroutines run one
// by one.
// After an error the outcome of the command is unknown, except for "redis.unfit" and "redis.denied".
// Errors are those of broker.hpp; no message contains a password.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/redis_address.hpp"
#include "poller/broker/broker_facts.hpp"
#include "poller/broker/redis_reply.hpp"

namespace inbox_poller::poller {

/// A Lua script and its SHA-1, by which Redis caches it.
struct RedisScript {
  std::string text;
  std::string sha1;
  explicit RedisScript(std::string text);
};

/// Keys and arguments of one run of a script.
struct ScriptCall {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

/// Client of one Redis. All calls on the thread of the executor; the object may end during a call. Reads the facts
/// at each connect and every 10 s, because a setting may change while Redis runs; a call fails if they do not fit.
class RedisConnection {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Does not connect; the first call does. `most`: limit of one reply, in bytes.
  RedisConnection(const boost::asio::any_io_executor&, config::RedisAddress,
                  std::size_t most = RedisReader::most_bytes);
  /// Ends the call under way with an error.
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// Runs one command or script and returns its reply; an error reply becomes an error. `within`: time for writing and
  /// reading, without connecting (at most 5 s) and its back-off.
  /// Errors: those of broker.hpp, and "redis.interrupted" after interrupt().
  boost::asio::awaitable<Result<RedisReply>> call(RedisCommand, milliseconds within);
  boost::asio::awaitable<Result<RedisReply>> call(const RedisScript&, std::vector<std::string> keys,
                                                  std::vector<std::string> arguments, milliseconds within);
  /// Runs the script once per call, in order, in one write. After an error reply the outcome of all calls is unknown.
  boost::asio::awaitable<Result<std::vector<RedisReply>>> call_all(const RedisScript&, std::vector<ScriptCall>,
                                                                   milliseconds within);
  /// Sends all commands in one write; error replies are part of the result.
  boost::asio::awaitable<Result<std::vector<RedisReply>>> call_all(std::vector<RedisCommand>, milliseconds within);

  /// Ends the reconnect back-off; the pending call connects at once.
  void try_now();
  /// Ends the call under way and closes the connection; the next call connects again. Same thread only.
  void interrupt();
  /// Facts of the Redis that was connected last.
  [[nodiscard]] const BrokerFacts& facts() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// Reads a password file and strips line ends at its end. The file must belong to this user, without rights for group
/// and others, and have at most 4,096 bytes. Errors: "redis.denied".
Result<std::string> read_secret(const std::string& path);

}  // namespace inbox_poller::poller

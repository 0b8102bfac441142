// One connection to Redis that comes back by itself: it logs in, refuses an engine that would lose what it confirms,
// waits longer from failure to failure, and ends each call at its deadline. Calls of several coroutines take turns.
// After an error it is not known whether the command was carried out, but for "exchange.unfit" and "exchange.denied".
// Errors are those of exchange.hpp; no message has a password in it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/engine_address.hpp"
#include "poller/broker/engine_facts.hpp"
#include "poller/broker/redis_reply.hpp"

namespace inbox_poller::poller {

/// A script and the name that Redis knows it by.
struct RedisScript {
  std::string text;
  std::string sha1;
  explicit RedisScript(std::string text);
};

/// What one run of a script is given.
struct ScriptCall {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

class RedisConnection {
 public:
  using milliseconds = std::chrono::milliseconds;

  RedisConnection(const boost::asio::any_io_executor&, config::EngineAddress);
  /// A call under way ends with an error.
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// The answer to one command; an error reply is an error.
  boost::asio::awaitable<Result<RedisReply>> call(RedisCommand, milliseconds within);
  boost::asio::awaitable<Result<RedisReply>> call(const RedisScript&, std::vector<std::string> keys,
                                                  std::vector<std::string> arguments, milliseconds within);
  /// The script once for each, in one write and in their order. After an error reply nobody knows of any of them.
  boost::asio::awaitable<Result<std::vector<RedisReply>>> call_all(const RedisScript&, std::vector<ScriptCall>,
                                                                   milliseconds within);
  /// All of them in one write; error replies stand among the answers.
  boost::asio::awaitable<Result<std::vector<RedisReply>>> call_all(std::vector<RedisCommand>, milliseconds within);

  /// A call that rests before it tries to connect again rests no longer.
  void try_now();
  /// Ends the call under way, and the connection; the next call connects anew. From the same thread.
  void interrupt();
  /// Of the engine that was connected last.
  [[nodiscard]] const EngineFacts& facts() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// The password in a file of ours that nobody else may read, without the newline at its end. "exchange.denied".
Result<std::string> read_secret(const std::string& path);

}  // namespace inbox_poller::poller

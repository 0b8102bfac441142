// Nodes of one team at one engine, on one loop, and frames between them.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <sstream>

#include "poller/broker/redis_broker.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::test {

struct Loop {
  boost::asio::io_context io{1};

  template <class T>
  T run(boost::asio::awaitable<T> task) {
    std::optional<T> result;
    std::exception_ptr failure;
    bool ended = false;
    boost::asio::co_spawn(io, keep_result(std::move(task), result), [&](std::exception_ptr thrown) {
      failure = thrown;
      ended = true;
    });
    io.restart();
    while (!ended && io.run_one() > 0) {
    }
    if (failure) std::rethrow_exception(failure);
    REQUIRE(result.has_value());
    return *std::move(result);
  }
  /// All that there is for this node, in pieces.
  std::vector<std::string> entries(poller::Broker& exchange, bool as_leader, std::vector<poller::ReceivedFrame>* all = nullptr) {
    std::vector<std::string> got;
    for (;;) {
      auto some = run(exchange.receive(as_leader, 7, std::chrono::milliseconds(0)));
      REQUIRE(some.ok());
      if (some->empty()) return got;
      for (poller::ReceivedFrame& one : *some) {
        got.push_back(one.entry);
        if (all != nullptr) all->push_back(std::move(one));
      }
    }
  }
};

/// In a team of the process's Redis that nobody else has.
struct RedisNodes : Loop {
  std::string team = fresh_team();
  poller::RedisCaller direct{shared_redis().address(team), wait_limit()};
  poller::RedisKeys keys{team};

  std::unique_ptr<poller::Broker> node(const std::string& name, std::size_t most = poller::RedisReader::most_bytes) {
    auto made = std::make_unique<poller::RedisBroker>(
        io.get_executor(), poller::RedisBroker::Settings{shared_redis().address(team), name, wait_limit(), most});
    poller::Heartbeat beat{name, "{}"};
    REQUIRE(run(made->beat(beat)).ok());
    return made;
  }
  poller::RedisReply call(const poller::RedisCommand& command) {
    const auto reply = direct.call(command);
    REQUIRE(reply.ok());
    return *reply;
  }
  /// Every connection ends, but those on which frames are read.
  void break_calls() {
    std::istringstream lines(call({"CLIENT", "LIST"}).text);
    for (std::string line; std::getline(lines, line);) {
      const auto id = line.substr(3, line.find(' ') - 3);
      const bool stays = line.find("cmd=xreadgroup") != std::string::npos || line.find("cmd=client") != std::string::npos;
      if (!stays) call({"CLIENT", "KILL", "ID", id});
    }
  }
};

inline poller::Frame frame(const std::string& address, int number, int attempt = 0) {
  poller::Frame one;
  one.address = address;
  one.to = "w3";
  one.from = "w1";
  one.type = "message";
  one.request = "r" + std::to_string(number);
  one.entry = "entry " + std::to_string(number) + std::string("\0\r\n", 3);
  one.key.value = "key-" + std::to_string(number);
  one.number = number;
  one.after = number - 1;
  one.at_ms = 1'700'000'000'000 + number;
  one.attempt = attempt;
  return one;
}

inline std::vector<poller::Frame> frames(const std::string& address, int from, int to, int attempt = 0) {
  std::vector<poller::Frame> many;
  for (int i = from; i < to; ++i) many.push_back(frame(address, i, attempt));
  return many;
}

}  // namespace inbox_poller::test

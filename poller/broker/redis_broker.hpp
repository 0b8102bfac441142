// The Broker over Redis. Streams are named by reader and writer, and scripts fence every node that no longer leads.
// Two connections are used, because a blocking read occupies one. access.hpp lists the rights of a node on each key.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <string>
#include <vector>

#include "poller/broker/broker.hpp"
#include "poller/broker/redis_connection.hpp"
#include "poller/broker/redis_keys.hpp"

namespace inbox_poller::poller {

/// Broker of one team on one node; broker.hpp describes the calls, errors and threads.
class RedisBroker final : public Broker {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Connection, identity and timing of one node.
  struct Settings {
    config::RedisAddress address;  // its `team` is part of every key
    std::string node;               // name of this node
    milliseconds call_within = std::chrono::seconds(10);
    std::size_t most_bytes = RedisReader::most_bytes;  // of one reply; what is larger is asked for in parts
    std::vector<std::string> team = {};  // empty: every node that sent a heartbeat, so any node may add names
  };

  /// Does not connect; the first call does.
  RedisBroker(const boost::asio::any_io_executor&, Settings);

  boost::asio::awaitable<Result<std::vector<PutOutcome>>> put(std::vector<Frame> frames, std::int64_t epoch) override;
  boost::asio::awaitable<Result<std::vector<ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                                     milliseconds wait) override;
  void wake() override;
  boost::asio::awaitable<Status> acknowledge(std::vector<ReceivedFrame> frames) override;
  boost::asio::awaitable<Result<LeaderLease>> elect(std::int64_t epoch_at_least) override;
  boost::asio::awaitable<Result<LeaderLease>> renew(std::int64_t epoch) override;
  boost::asio::awaitable<Status> resign(std::int64_t epoch) override;
  boost::asio::awaitable<Result<LeaderLease>> leader() override;
  boost::asio::awaitable<Result<std::vector<AnswerOutcome>>> answer(std::vector<Frame> frames,
                                                                    std::int64_t epoch) override;
  boost::asio::awaitable<Result<std::vector<FinalAnswer>>> answered(
      std::vector<std::pair<std::string, std::string>> requests) override;
  boost::asio::awaitable<Status> beat(Heartbeat) override;
  boost::asio::awaitable<Result<std::vector<Heartbeat>>> nodes() override;
  boost::asio::awaitable<Result<std::string>> place() override;
  [[nodiscard]] std::vector<std::string> worries() const override { return calls_.facts().worries(); }
  [[nodiscard]] std::string name() const override { return settings_.address.shown(); }

 private:
  static constexpr std::size_t most_taken_up = 500;
  /// A stream that this node reads, and the progress in its unacknowledged entries.
  struct Source {
    std::string address, node;
    std::string taken_up = {};  // last entry that was redelivered; empty: none yet
    bool is_new = false;        // every pending entry was redelivered
    std::size_t at_once = most_taken_up;
  };

  boost::asio::awaitable<Result<RedisReply>> lease_call(const RedisScript&, std::vector<std::string> arguments);
  boost::asio::awaitable<Result<std::vector<std::string>>> known_nodes();
  boost::asio::awaitable<Status> find_sources(bool as_leader);
  boost::asio::awaitable<Result<std::vector<ReceivedFrame>>> take_up(Source&, std::size_t most);
  void give_pending_again();
  boost::asio::awaitable<Result<std::vector<ReceivedFrame>>> wait_for_news(std::size_t most, milliseconds wait);

  const Settings settings_;
  const RedisKeys keys_;
  RedisConnection calls_;
  RedisConnection reader_;
  std::map<std::string, Source> sources_;  // by stream
  bool reads_as_leader_ = false;
  bool is_woken_ = false;
};

}  // namespace inbox_poller::poller

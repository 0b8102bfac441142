// The operations of one actor over Redis: a box is a stream with one group of readers, and all that is said is what a
// folder says (envelopes.hpp). What an offer is stands in the stream: an entry that is pending and was touched within the
// last ten seconds is offered; whoever offers it touches it again and again, so that what a killed process offered comes
// again. How often it was offered is the entry's count. Nothing is accepted, offered or claimed while the engine is away.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "poller/clock.hpp"
#include "poller/broker/redis_caller.hpp"
#include "poller/broker/redis_tasks.hpp"
#include "poller/mailbox/actor_mail.hpp"

namespace inbox_poller::poller {

/// Rings when something new stands in a stream, while it is listened to.
class RedisBell {
 public:
  RedisBell(boost::asio::any_io_executor executor, config::EngineAddress address, std::string stream,
            std::function<void()> ring);
  ~RedisBell();
  RedisBell(const RedisBell&) = delete;
  RedisBell& operator=(const RedisBell&) = delete;

  /// From behind this entry on.
  void listen(const std::string& behind);
  void rest();

 private:
  struct Listener;
  boost::asio::any_io_executor executor_;
  std::function<std::shared_ptr<Listener>()> make_;
  std::shared_ptr<Listener> listener_;
};

class RedisBox final : public SharedBox {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// "name.invalid", and what exchange.hpp says of an engine that is not reached or does not fit. `patience`: for so
  /// long a call is made again while the engine is away.
  static Result<std::unique_ptr<RedisBox>> open(const config::EngineAddress&, const std::string& actor, const Clock&,
                                                boost::asio::any_io_executor, milliseconds patience,
                                                TaskSettings settings = {});
  ~RedisBox() override;

  [[nodiscard]] const std::string& actor() const override { return actor_; }
  Result<Sent> send(const Letter&) override;
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, milliseconds within) override;
  Status acknowledge(const std::string& ticket) override;
  void give_back(const std::string& ticket) override;

  Result<boost::json::object> inbox() override;
  [[nodiscard]] TaskStore& tasks() override { return tasks_; }
  Status make() override;

  [[nodiscard]] std::vector<std::string> worries() const override { return redis_.connection().facts().worries(); }

 private:
  RedisBox(const config::EngineAddress&, std::string actor, const Clock&, boost::asio::any_io_executor,
           milliseconds patience, TaskSettings settings);

  struct Look {
    std::optional<HandOut> offered;
    milliseconds again{0};  // when an offer of somebody else may be over; negative: only when something comes
    std::string last;       // entry of the stream
  };
  Result<Look> offer(const Filter&);
  void wake();
  void keep_offers();
  Status touch(bool is_free, const std::vector<std::string>& ids);

  const config::EngineAddress address_;
  const std::string actor_;
  const Clock& clock_;
  const RedisKeys keys_;
  const std::string place_;
  const std::string stream_;
  const milliseconds patience_;
  RedisCaller redis_;
  RedisTasks tasks_;
  std::map<std::string, std::string> offers_;  // entries, by ticket
  unsigned long next_ticket_ = 0;
  long long last_ns_ = 0;
  boost::asio::any_io_executor executor_;
  std::list<boost::asio::steady_timer*> waiting_;
  boost::asio::steady_timer keeper_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();  // a timer that ran out may be on its way
  RedisBell bell_;
};

}  // namespace inbox_poller::poller

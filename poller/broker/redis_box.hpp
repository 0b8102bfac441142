// The operations of one actor on shared mail in Redis. An inbox is a stream with one consumer group; the texts and
// envelopes are those of a folder (envelopes.hpp). A lease is stored in the stream: a pending entry touched within the
// last 10 s is leased. The consumer touches it every 3 s, so entries of a killed process are leased again. The entry's
// delivery count is the number of attempts. Without Redis nothing is accepted, leased or claimed.
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

/// Watches one stream on a connection of its own and calls `ring` on a new entry, or on a lost connection.
/// Works on the thread of the executor; `ring` is not called after rest() or the destructor.
class RedisBell {
 public:
  RedisBell(boost::asio::any_io_executor executor, config::RedisAddress address, std::string stream,
            std::function<void()> ring);
  ~RedisBell();
  RedisBell(const RedisBell&) = delete;
  RedisBell& operator=(const RedisBell&) = delete;

  /// Watches for entries after the id `behind`; ignored while already watching, or if the id is empty.
  void listen(const std::string& behind);
  /// Stops watching and closes the connection.
  void rest();

 private:
  struct Listener;
  boost::asio::any_io_executor executor_;
  std::function<std::shared_ptr<Listener>()> make_;
  std::shared_ptr<Listener> listener_;
};

/// SharedBox of one actor in Redis. One thread, that of the executor. Calls block; only the waiting of recv() does not.
class RedisBox final : public SharedBox {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Opens the mailbox and checks the connection. `patience`: how long a call is retried while Redis is unreachable.
  /// Errors: "name.invalid" for the actor, "redis.address" without a team, and those of broker.hpp.
  /// `clock` must outlive this object; the destructor returns its leases.
  static Result<std::unique_ptr<RedisBox>> open(const config::RedisAddress&, const std::string& actor, const Clock&,
                                                boost::asio::any_io_executor, milliseconds patience,
                                                TaskSettings settings = {});
  ~RedisBox() override;

  Result<Sent> send(const MessageDraft&) override;
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, milliseconds within) override;
  Status acknowledge(const std::string& ticket) override;
  void requeue(const std::string& ticket) override;

  Result<boost::json::object> inbox() override;
  Status make() override;

  [[nodiscard]] std::vector<std::string> worries() const override { return redis_.connection().facts().worries(); }

 private:
  RedisBox(const config::RedisAddress&, const std::string& actor, const Clock&, boost::asio::any_io_executor,
           milliseconds patience, TaskSettings settings);

  struct Found {
    std::optional<HandOut> offered;
    milliseconds again{0};  // time until the next lease of another consumer may expire; negative: wait for a new entry
    std::string last;       // id of the last entry in the stream
  };
  Result<Found> offer(const Filter&, const std::string& call);
  void wake();
  void keep_offers();
  Status touch(bool is_free, const std::vector<std::string>& ids);

  const config::RedisAddress address_;
  const Clock& clock_;
  const RedisKeys keys_;
  const std::string place_;
  const std::string stream_;
  const milliseconds patience_;
  RedisCaller redis_;
  RedisTasks tasks_;
  std::map<std::string, std::string> offers_;  // entry id by ticket
  unsigned long next_ticket_ = 0;
  long long last_ns_ = 0;
  boost::asio::any_io_executor executor_;
  std::list<boost::asio::steady_timer*> waiting_;
  boost::asio::steady_timer keeper_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();  // a timer that expired may still call its handler
  RedisBell bell_;
};

}  // namespace inbox_poller::poller

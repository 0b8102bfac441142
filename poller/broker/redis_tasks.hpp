// The task queue that agents share, in Redis. Who has which task, and whether a lease is over, is decided by scripts
// and the server's clock alone. What is changed is changed as it was read, or read again; so a holder that has lost a
// task notices. Each claim has a number that only grows: where this process made the claim, a later claim of the same
// actor is not taken for it. The envelopes and all that is said are those of a folder (envelopes.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/broker/redis_caller.hpp"
#include "poller/broker/redis_keys.hpp"
#include "poller/mailbox/envelopes.hpp"

namespace inbox_poller::poller {

class RedisTasks final : public TaskStore {
 public:
  RedisTasks(RedisCaller& redis, RedisKeys keys, std::string place, TaskSettings settings)
      : redis_(redis), keys_(std::move(keys)), place_(std::move(place)), settings_(settings) {}

  Result<Task> post(const std::string& actor, const std::string& type, const boost::json::value& payload,
                    std::optional<double> priority) override;
  Result<std::optional<Task>> claim(const std::string& actor, const std::optional<std::string>& type,
                                    std::chrono::milliseconds lease) override;
  Result<Task> complete(const std::string& actor, const std::string& id, const boost::json::value& result) override;
  Result<Task> heartbeat(const std::string& actor, const std::string& id, std::chrono::milliseconds lease) override;
  Result<Task> abandon(const std::string& actor, const std::string& id, const std::string& reason) override;

  Result<std::vector<TaskFile>> sweep() override;
  [[nodiscard]] const std::vector<Error>& troubles() const override { return troubles_; }
  [[nodiscard]] bool has_begun() const override { return false; }
  [[nodiscard]] Result<std::vector<TaskFile>> all() const override;
  [[nodiscard]] Result<std::string> whole_id(const std::string& beginning) const override;
  [[nodiscard]] Result<std::string> whole_id(const std::string& beginning, const std::string&) const override {
    return whole_id(beginning);  // an id has one task here
  }
  Result<Task> requeue(const std::string& id) override;

  Result<TaskCounts> counts() const;
  /// What was finished since that moment, by the server's clock.
  Result<std::vector<TaskFile>> done_since(long long since_ms) const;
  Result<std::vector<std::string>> held_by(const std::string& actor) const;
  /// A task as it stood elsewhere; false when there is one of its id.
  Result<bool> put(const TaskFile&);

 private:
  struct Found {
    TaskFile file;
    std::string version;
    long long now_ns = 0;
    std::string counter;
  };
  struct Change {
    TaskPlace place = TaskPlace::open;
    std::string holder;
    std::chrono::milliseconds lease{0};
    std::string why;  // "claim", "over"
  };
  enum class Changed { yes, no, not_over };

  Result<std::optional<Found>> get(const std::string& id) const;
  Result<Changed> change(const Found&, const Task&, const Change&, std::string* counter = nullptr);
  /// The caller's own task, or nothing.
  Result<std::optional<Found>> held(const std::string& actor, const std::string& id) const;
  [[nodiscard]] Error not_held(const std::string& actor, const std::string& id) const;
  Error keep_late(const std::string& actor, const std::string& id, const boost::json::value& result);
  Result<long long> now_ns() const;
  Result<RedisReply> page(TaskPlace, const std::string& from_score, const char* which, int but) const;
  [[nodiscard]] std::vector<std::string> keys_of(const std::string& id) const;
  [[nodiscard]] std::string prefix() const { return keys_.task({}); }

  RedisCaller& redis_;
  const RedisKeys keys_;
  const std::string place_;
  const TaskSettings settings_;
  std::map<std::string, std::string> claims_;  // ours, by id: their number
  std::vector<Error> troubles_;
};

}  // namespace inbox_poller::poller

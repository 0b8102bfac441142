// The shared task queue in Redis. Scripts and the server's clock alone decide claims and expired leases. Each write
// names the version that it read and fails on any other, so a holder notices that it lost a task. Each claim
// increments a counter, so a later claim by the same actor is not mistaken for the claim of this process.
// Envelopes and messages are those of a folder (envelopes.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/broker/redis_caller.hpp"
#include "poller/broker/redis_keys.hpp"
#include "poller/mailbox/envelopes.hpp"

namespace inbox_poller::poller {

/// TaskStore of one team in Redis. Calls block; `redis` must outlive this object and has one thread at a time.
/// Errors: those of broker.hpp and of TaskStore.
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

  Result<TaskSweep> sweep() override;
  [[nodiscard]] Result<std::vector<TaskFile>> all() const override;
  /// Ignores the actor: an id has one task here.
  [[nodiscard]] Result<std::string> whole_id(const std::string& beginning, const std::string& actor) const override;
  Result<Task> requeue(const std::string& id) override;

  /// Number of tasks in each state.
  Result<TaskCounts> counts() const;
  /// Tasks completed since `since_ms` (ms, Unix epoch, the server's clock).
  Result<std::vector<TaskFile>> done_since(long long since_ms) const;
  /// Ids of the tasks that `actor` holds, oldest task first; at most `most_listed`.
  Result<std::vector<std::string>> held_by(const std::string& actor) const;
  /// Stores a copied task in its state. False if a task with its id is there.
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
    std::string why;  // "claim" counts a new claim, "over" requires an expired lease
  };
  enum class Changed { yes, no, not_over };

  Result<std::optional<Found>> get(const std::string& id) const;
  Result<Changed> change(const Found&, const Task&, const Change&, std::string* counter = nullptr);
  /// Returns the task if `actor` holds it under the claim of this process, otherwise empty.
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
  std::map<std::string, std::string> claims_;  // claim counter by id, for claims of this process
};

}  // namespace inbox_poller::poller

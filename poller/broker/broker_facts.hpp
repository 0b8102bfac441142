// Reads the INFO of Redis, checks that its settings fit, and maps error replies to our error codes. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poller/broker/redis_reply.hpp"

namespace inbox_poller::poller {

/// The parts of the INFO reply that decide whether this Redis may be used.
struct BrokerFacts {
  std::string run_id, replication_id;
  bool is_replica = false;
  bool is_loading = false;      // loads its data after a start
  bool writes_log = false;      // aof_enabled (setting appendonly)
  std::string evicts;           // maxmemory_policy
  std::string log_is_synced;    // appendfsync; empty: the user may not read it
  bool log_fails = false;       // aof_last_write_status is err
  int major = 0;                // of redis_version

  /// Parses an INFO reply; missing fields stay empty. `log_is_synced` is not part of INFO.
  static BrokerFacts read(std::string_view info);
  /// Checks that this Redis may be used. Errors: "redis.unfit" before 7.0, without appendonly, or with eviction; the
  /// message names the setting. "redis.down" for a replica or while loading. `not_durable_is_meant` accepts missing
  /// appendonly and eviction.
  [[nodiscard]] Status usable(bool not_durable_is_meant) const;
  /// Problems that do not prevent use, as sentences for people.
  [[nodiscard]] std::vector<std::string> worries() const;
};

/// Maps an error reply to "redis.denied", "redis.full", "redis.down" or "redis.fault" by its first words.
Error error_of(const RedisReply&);

}  // namespace inbox_poller::poller

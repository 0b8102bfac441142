// What an engine says of itself, whether it may be used, and what its refusals mean. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poller/broker/redis_reply.hpp"

namespace inbox_poller::poller {

/// What INFO says of the engine, as far as it matters here.
struct EngineFacts {
  std::string run_id, replication_id;
  bool is_replica = false;
  bool is_loading = false;      // after a start
  bool writes_log = false;      // appendonly
  std::string evicts;           // maxmemory-policy
  std::string log_is_synced;    // appendfsync; empty: its user may not ask
  bool log_fails = false;       // the last write of it failed
  int major = 0;                // of its version

  static EngineFacts read(std::string_view info);
  /// "exchange.unfit" with what to set, unless that is meant; "exchange.down" for a replica.
  [[nodiscard]] Status usable(bool not_durable_is_meant) const;
  /// What is wrong and does not stop us.
  [[nodiscard]] std::vector<std::string> worries() const;
};

/// The error that an error reply means.
Error error_of(const RedisReply&);

}  // namespace inbox_poller::poller

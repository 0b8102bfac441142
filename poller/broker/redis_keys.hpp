// Names of a team's keys in Redis. {team} is a hash tag, so a Redis Cluster keeps the whole team in one slot.
// The access rules (access.hpp) match these names, so the writing node is part of them.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::poller {

/// Builds the names of all keys of one team.
struct RedisKeys {
  std::string prefix;  // "ip:{team}:"

  explicit RedisKeys(std::string_view team) : prefix("ip:{" + std::string(team) + "}:") {}

  /// Writer name in the keys of shared mail; access_list() allows no node of this name.
  static constexpr std::string_view shared_box = "box";

  /// Stream to the address or actor `to`, written by `node`.
  [[nodiscard]] std::string stream(std::string_view to, std::string_view node) const {
    return prefix + "in:" + std::string(to) + ':' + std::string(node);
  }
  /// Marker that makes appends idempotent: one per node, address and message key.
  [[nodiscard]] std::string mark(std::string_view node, std::string_view to, std::string_view key) const {
    return prefix + "k:" + std::string(node) + ':' + std::string(to) + ':' + std::string(key);
  }
  /// Hash with the final answer to one approval request.
  [[nodiscard]] std::string request(std::string_view kind, std::string_view request) const {
    return prefix + "request:" + std::string(kind) + ':' + std::string(request);
  }
  /// Last heartbeat of one node.
  [[nodiscard]] std::string node(std::string_view name) const { return prefix + "node:" + std::string(name); }
  /// Hash of one task.
  [[nodiscard]] std::string task(std::string_view id) const { return prefix + "task:" + std::string(id); }
  /// Any other key of the team, such as "leader" or "epoch".
  [[nodiscard]] std::string of(std::string_view name) const { return prefix + std::string(name); }
};

}  // namespace inbox_poller::poller

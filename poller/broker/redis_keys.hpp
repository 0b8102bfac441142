// What the keys of a team are called. {team} is a hash tag: all of a team is in one slot of a cluster. What may be
// written where is decided by these names (access.hpp), so the writing host is a part of them.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::poller {

struct RedisKeys {
  std::string prefix;  // "ip:{team}:"

  explicit RedisKeys(std::string_view team) : prefix("ip:{" + std::string(team) + "}:") {}

  /// What mail that agents share is written as; no host may be called so.
  static constexpr std::string_view shared_box = "box";

  [[nodiscard]] std::string stream(std::string_view to, std::string_view host) const {
    return prefix + "in:" + std::string(to) + ':' + std::string(host);
  }
  /// That a message was appended.
  [[nodiscard]] std::string mark(std::string_view host, std::string_view to, std::string_view key) const {
    return prefix + "k:" + std::string(host) + ':' + std::string(to) + ':' + std::string(key);
  }
  [[nodiscard]] std::string ask(std::string_view kind, std::string_view request) const {
    return prefix + "ask:" + std::string(kind) + ':' + std::string(request);
  }
  [[nodiscard]] std::string host(std::string_view name) const { return prefix + "host:" + std::string(name); }
  [[nodiscard]] std::string task(std::string_view id) const { return prefix + "task:" + std::string(id); }
  [[nodiscard]] std::string of(std::string_view name) const { return prefix + std::string(name); }
};

}  // namespace inbox_poller::poller

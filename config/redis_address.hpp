// The address of Redis between nodes, and the login there, in one line:
//   redis+unix:///run/redis/team.sock#team        redis://HOST[:PORT]#team        rediss://HOST[:PORT]#team (TLS)
// with ?user=NAME, &secret=FILE (the password's file), &ca=FILE (who may sign the Redis server's certificate) and
// &accept_risks=redis-not-durable before the `#`. Invariant: an address never contains a password, because addresses
// are shown, logged and written into readable files. Source: docs/how-to/redis.md.
#pragma once

#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::config {

struct RedisAddress {
  enum class Scheme { unix_socket, tcp, tls };
  Scheme scheme = Scheme::unix_socket;
  std::string path;  // of the socket
  std::string host;  // a name or an address; without brackets
  unsigned short port = 6379;
  std::string user;    // empty: the Redis server's default user
  std::string secret;  // a file; empty: no password
  std::string ca;      // a file; empty: the system's authorities
  std::string team;    // the prefix of all keys; may be empty if the configuration names the team
  bool not_durable_is_meant = false;

  bool operator==(const RedisAddress&) const = default;
  /// Returns the address for people and logs: neither user nor files.
  [[nodiscard]] std::string shown() const;
};

/// Returns true if the text is meant as a Redis server's address rather than as a path.
bool is_engine_address(std::string_view text);

/// Parses an address. Error: "redis.address" with the fix, without any part of a password.
Result<RedisAddress> parse_redis_address(std::string_view text);

}  // namespace inbox_poller::config

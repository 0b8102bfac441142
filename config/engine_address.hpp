// Where the engine between hosts is, and how one logs in there, out of one line:
//   redis+unix:///run/redis/team.sock#team        redis://HOST[:PORT]#team        rediss://HOST[:PORT]#team (TLS)
// with ?user=NAME, &secret=FILE (the password's file), &ca=FILE (who may sign the engine's certificate) and
// &i_understand=redis-not-durable before the `#`. A password is never a part of it: an address is shown, logged and
// written into files that others read. Source: docs/how-to/redis.md.
#pragma once

#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::config {

struct EngineAddress {
  enum class Way { unix_socket, tcp, tls };
  Way way = Way::unix_socket;
  std::string path;  // of the socket
  std::string host;  // a name or an address; without brackets
  unsigned short port = 6379;
  std::string user;    // empty: the engine's default user
  std::string secret;  // a file; empty: no password
  std::string ca;      // a file; empty: those that the system trusts
  std::string team;    // below which all keys are; may be empty where a configuration names the team
  bool not_durable_is_meant = false;

  bool operator==(const EngineAddress&) const = default;
  /// For people and logs: neither user nor files.
  [[nodiscard]] std::string shown() const;
};

/// True for what is meant as the address of an engine, rather than as a folder.
bool is_engine_address(std::string_view text);

/// "exchange.address", with what to write instead; nothing of a password in it.
Result<EngineAddress> parse_engine_address(std::string_view text);

}  // namespace inbox_poller::config

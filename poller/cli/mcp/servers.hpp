// Settings that hold the clients' MCP servers. Source: the clients' public settings reference.
#pragma once

#include <filesystem>
#include <string>

#include "poller/cli/box_place.hpp"
#include "schema/error.hpp"
#include "schema/mcp_servers.hpp"

namespace inbox_poller::poller::cli {

struct McpPlace {
  std::filesystem::path file;
  schema::ServersPlace keys;
};

/// Returns a variable of the environment; empty when it is not set.
std::string environment_text(const char* name);

/// The owner of a server: an actor below a folder, or (all empty) the lead of a daemon's team.
struct McpWhom {
  std::string root;  // absolute path, or a Redis server's address
  std::string actor;
  std::string known_actors;  // as given; checked
};

/// Decides the owner from options, or else the environment. The server and the installer share these rules. Errors:
/// "mailbox.usage", "name.invalid".
Result<McpWhom> mcp_whom(const BoxPlace& given, const std::string& team, bool channel);

/// Returns the place of a scope: .claude.json in CLAUDE_CONFIG_DIR or HOME ("user", "local"), or .mcp.json in the
/// working directory ("project"). Error "control.bad_path".
Result<McpPlace> mcp_place(const std::string& scope);

}  // namespace inbox_poller::poller::cli

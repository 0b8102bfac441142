// Where the clients here keep the servers that they start. Source: the clients' public settings reference.
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

/// A variable of the environment; empty when it is not set.
std::string environment_text(const char* name);

/// Whose server it is: of one actor below a folder, or (both empty) of the lead of a daemon's team.
struct McpWhom {
  std::string root;  // absolute
  std::string actor;
  std::string known_actors;  // as given; checked
};

/// From what was given and, where that says nothing, the environment; by the same rules for the server itself and for
/// what is written into settings. "box.usage" and "name.invalid" in words.
Result<McpWhom> mcp_whom(const BoxPlace& given, const std::string& team, bool channel);

/// Of a scope: "user" and "local" are in .claude.json in CLAUDE_CONFIG_DIR or HOME, "project" is .mcp.json in the
/// working directory.
Result<McpPlace> mcp_place(const std::string& scope);

}  // namespace inbox_poller::poller::cli

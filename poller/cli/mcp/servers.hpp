// Where the clients here keep the servers that they start. Source: the clients' public settings reference.
#pragma once

#include <filesystem>
#include <string>

#include "schema/error.hpp"
#include "schema/mcp_servers.hpp"

namespace inbox_poller::poller::cli {

struct McpPlace {
  std::filesystem::path file;
  schema::ServersPlace keys;
};

/// A variable of the environment; empty when it is not set.
std::string environment_text(const char* name);

/// Of a scope: "user" and "local" are in .claude.json in CLAUDE_CONFIG_DIR or HOME, "project" is .mcp.json in the
/// working directory.
Result<McpPlace> mcp_place(const std::string& scope);

}  // namespace inbox_poller::poller::cli

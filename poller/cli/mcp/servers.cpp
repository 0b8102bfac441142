#include "poller/cli/mcp/servers.hpp"

#include <cstdlib>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<McpPlace> mcp_place(const std::string& scope) {
  std::error_code problem;
  const fs::path here = fs::current_path(problem);
  if (problem && scope != "user")
    return Error{std::string(code::bad_path), "the working directory cannot be found out: " + problem.message()};
  if (scope == "project") return McpPlace{here / ".mcp.json", {"mcpServers"}};
  const std::string configured = environment_text("CLAUDE_CONFIG_DIR");
  const fs::path folder = configured.empty() ? environment_text("HOME") : configured;
  if (!folder.is_absolute())
    return Error{std::string(code::bad_path), "neither CLAUDE_CONFIG_DIR nor HOME names a folder, as an absolute path"};
  if (scope == "user") return McpPlace{folder / ".claude.json", {"mcpServers"}};
  return McpPlace{folder / ".claude.json", {"projects", here.string(), "mcpServers"}};
}

}  // namespace inbox_poller::poller::cli

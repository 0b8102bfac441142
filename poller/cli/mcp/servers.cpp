#include "poller/cli/mcp/servers.hpp"

#include <cstdlib>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

Result<McpPlace> mcp_place(const std::string& scope) {
  std::error_code problem;
  const fs::path here = fs::current_path(problem);
  if (problem && scope != "user")
    return Error{std::string(code::bad_path), "the working directory cannot be found out: " + problem.message()};
  if (scope == "project") return McpPlace{here / ".mcp.json", {"mcpServers"}};
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  const fs::path folder = variable("CLAUDE_CONFIG_DIR").empty() ? variable("HOME") : variable("CLAUDE_CONFIG_DIR");
  if (!folder.is_absolute())
    return Error{std::string(code::bad_path), "neither CLAUDE_CONFIG_DIR nor HOME names a folder, as an absolute path"};
  if (scope == "user") return McpPlace{folder / ".claude.json", {"mcpServers"}};
  return McpPlace{folder / ".claude.json", {"projects", here.string(), "mcpServers"}};
}

}  // namespace inbox_poller::poller::cli

#include "poller/cli/mcp/servers.hpp"

#include <cstdlib>

#include "poller/control/client.hpp"
#include "poller/mailbox/envelopes.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<McpWhom> mcp_whom(const BoxPlace& given, const std::string& team, bool channel) {
  const std::string &root = given.root, &actor = given.actor;
  const auto wrong = [](const char* what) { return Error{"mailbox.usage", what}; };
  if (!root.empty() && !team.empty())
    return wrong("--root is for an actor below a folder, --team for the lead of a team: leave one of them out");
  const BoxPlace place{root.empty() && team.empty() ? environment_text("COLLAB_ROOT") : root, actor,
                       given.known_actors.empty() ? environment_text("COLLAB_KNOWN_ACTORS") : given.known_actors};
  if (place.root.empty()) {
    if (!given.known_actors.empty())
      return wrong("--known-actors is for an actor below a folder: leave it out for the lead of a team, who knows its members");
    if (actor.empty()) return McpWhom{};
    return wrong("--actor has a mailbox below a folder: name that with --root, or leave --actor out for the lead of a team");
  }
  if (channel) return wrong("--channel is for the lead of a team that a daemon serves: leave it out with --root");
  TRY(auto path, place.path());
  TRY(auto who, place.who());
  TRY(require_actor_name(who));
  TRY(place.known());
  return McpWhom{std::move(path), std::move(who), place.known_actors};
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

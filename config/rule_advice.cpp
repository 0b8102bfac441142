#include "config/rule_advice.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "config/command_rules.hpp"
#include "config/path_pattern.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::config {
namespace {

/// The tools that clients of 2026 have, or had; of MCP servers nobody knows. Source: the clients' public documentation.
constexpr std::string_view tools =
    "Agent AgentOutputTool AskUserQuestion Bash BashOutput Config CronCreate CronDelete CronList Edit "
    "EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP ListMcpResources "
    "ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead PowerShell PushNotification REPL Read "
    "ReadMcpResource ReadMcpResourceTool RemoteTrigger ScheduleWakeup SendMessage SendUserFile Skill SlashCommand "
    "Sleep StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete "
    "TodoRead TodoWrite ToolSearch WaitForMcpServers WebFetch WebSearch Workflow Write";

/// Every call that `allow` could cover, seen as texts: where it has stars, so has the text, and only a star of the
/// restriction takes them.
bool covers_path(const std::string& restriction, const std::string& allow) {
  if (restriction.find('?') != std::string::npos) return restriction == allow;
  const RuleContext anywhere{"/folder of a worker", "/home"};
  const std::string below = below_start(allow, Side::grant) + (allow.ends_with('/') ? "/**" : "");
  const std::string base = allow.starts_with("//") ? "" : allow.starts_with("~/") ? anywhere.home : anywhere.cwd;
  return path_matches(restriction, base + "/" + below, anywhere, Side::restrict);
}

bool covers_command(const std::string& restriction, std::string allow) {
  allow = normal_form(allow);
  const bool trailing = allow.ends_with(" *");
  return command_pattern_matches(restriction, allow) &&
         (!trailing || command_pattern_matches(restriction, allow.substr(0, allow.size() - 2)));
}

bool covers_domain(std::string_view restriction, std::string_view allow) {
  const auto wide = parse_host_pattern(restriction.substr(domain_prefix.size()));
  const auto narrow = parse_host_pattern(allow.substr(domain_prefix.size()));
  if (!wide || !narrow || (wide->port && wide->port != narrow->port)) return false;
  if (wide->any || narrow->any) return wide->any;
  if (wide->name == narrow->name) return wide->subdomains == narrow->subdomains;
  return wide->subdomains && narrow->name.ends_with("." + wide->name);
}

bool covers_tool(const PermissionRule& restriction, const PermissionRule& allow) {
  const ToolKind kind = tool_kind(allow.tool);
  if (kind == ToolKind::agent) return tool_kind(restriction.tool) == ToolKind::agent;
  if (kind == ToolKind::mcp) {
    const bool server = restriction.tool.find("__", 5) == std::string::npos;
    return wildcard_match(restriction.tool, allow.tool) ||
           (server && wildcard_match(restriction.tool + "__*", allow.tool));
  }
  return restriction.tool == allow.tool || (!restriction.specifier && restriction.tool == path_rule_tool(kind));
}

bool covers(const PermissionRule& restriction, const PermissionRule& allow) {
  if (!covers_tool(restriction, allow)) return false;
  if (!restriction.specifier) return true;
  if (!allow.specifier) return false;
  if (allow.tool == "Bash") return covers_command(*restriction.specifier, *allow.specifier);
  if (allow.tool == "Read" || allow.tool == "Edit") return covers_path(*restriction.specifier, *allow.specifier);
  if (tool_kind(allow.tool) == ToolKind::agent) return wildcard_match(*restriction.specifier, *allow.specifier);
  return restriction.specifier->starts_with(domain_prefix) && allow.specifier->starts_with(domain_prefix) &&
         covers_domain(*restriction.specifier, *allow.specifier);
}

/// A bare tool that could say more narrowly what it allows.
std::string without_bounds(const PermissionRule& rule) {
  if (rule.specifier) return {};
  switch (tool_kind(rule.tool)) {
    case ToolKind::bash:
      return "every command that can be split with certainty is allowed, whatever it does; write \"Bash(PROGRAM:*)\"";
    case ToolKind::edit: return "any file may be written, this configuration too; write \"Edit(./FOLDER/**)\"";
    case ToolKind::read:
    case ToolKind::search: return "any file may be read, keys and passwords too; write \"Read(./FOLDER/**)\"";
    case ToolKind::fetch: return "any host may be reached; write \"WebFetch(domain:HOST)\"";
    case ToolKind::agent: return "any subagent may be started; write \"" + rule.tool + "(NAME)\"";
    case ToolKind::unknown: return "every call of this tool is allowed, and nothing is known here of what it does";
    case ToolKind::mcp:
    case ToolKind::harmless:
    case ToolKind::interactive: return {};
  }
  return {};
}

}  // namespace

std::optional<std::string> why_no_such_tool(std::string_view tool) {
  if (tool.starts_with("mcp__")) return std::nullopt;
  std::istringstream names{std::string(tools)};
  const std::vector<std::string> known{std::istream_iterator<std::string>(names), {}};
  if (std::ranges::find(known, tool) != known.end()) return std::nullopt;
  const std::string meant = schema::nearest(tool, known);
  return "no client that is known here has a tool called \"" + std::string(tool) + "\"" +
         (meant.empty() ? "; names are compared exactly" : "; did you mean \"" + meant + "\"?");
}

std::vector<std::string> advice_on(const PermissionRule& rule, Action list, const PermissionRules& rules) {
  std::vector<std::string> told;
  const auto no_tool = why_no_such_tool(rule.tool);
  if (no_tool) told.push_back(*no_tool);
  const auto same = [&](const PermissionRule& other) {
    return other.tool == rule.tool && other.specifier == rule.specifier;
  };
  if (list == Action::ask && std::ranges::any_of(rules.deny, same))
    told.emplace_back("never asks about anything: it stands under deny too");
  if (list != Action::allow) return told;
  for (const auto& [name, restrictions] : {std::pair{"deny", &rules.deny}, std::pair{"ask", &rules.ask}}) {
    const auto found = std::ranges::find_if(*restrictions, [&](const auto& other) { return covers(other, rule); });
    if (found == restrictions->end()) continue;
    told.push_back("never allows anything: the " + std::string(name) + " rule " + found->text + " covers all of it");
    break;
  }
  if (const std::string bounds = without_bounds(rule); !no_tool && !bounds.empty()) told.push_back(bounds);
  return told;
}

}  // namespace inbox_poller::config

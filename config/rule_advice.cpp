#include "config/rule_advice.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "config/command_rules.hpp"
#include "config/path_pattern.hpp"
#include "config/skill_rules.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"
#include "config/tool_fields.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::config {
namespace {

/// The tools of the clients of 2026 and before; those of MCP servers are unknown. Source: the clients' public
/// documentation.
constexpr std::string_view tools =
    "Agent AgentOutputTool AskUserQuestion Bash BashOutput Config CronCreate CronDelete CronList Edit "
    "EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP ListMcpResources "
    "ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead PowerShell PushNotification REPL Read "
    "ReadMcpResource ReadMcpResourceTool RemoteTrigger ScheduleWakeup SendMessage SendUserFile Skill SlashCommand "
    "Sleep StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete "
    "TodoRead TodoWrite ToolSearch WaitForMcpServers WebFetch WebSearch Workflow Write";

/// Returns true if the restriction covers every call that `allow` could cover. The calls are compared as texts with
/// stars, which only a star of the restriction matches.
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
  if (kind == ToolKind::agent || kind == ToolKind::skill) return tool_kind(restriction.tool) == kind;
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
  if (tool_kind(allow.tool) == ToolKind::skill)
    return skill_matches(*restriction.specifier, skill_invocation(*allow.specifier, ""), Side::restrict);
  if (tool_kind(allow.tool) == ToolKind::powershell) return restriction.specifier == allow.specifier;
  if (tool_kind(allow.tool) == ToolKind::agent) return wildcard_match(*restriction.specifier, *allow.specifier);
  return restriction.specifier->starts_with(domain_prefix) && allow.specifier->starts_with(domain_prefix) &&
         covers_domain(*restriction.specifier, *allow.specifier);
}

/// Returns a warning for a bare tool that could have a narrower rule.
std::string without_bounds(const PermissionRule& rule) {
  if (rule.specifier) return {};
  switch (tool_kind(rule.tool)) {
    case ToolKind::bash:
      return "every command that can be split with certainty is allowed, whatever it does; write \"Bash(PROGRAM *)\"";
    case ToolKind::edit: return "any file may be written, this configuration too; write \"Edit(./FOLDER/**)\"";
    case ToolKind::read:
    case ToolKind::search: return "any file may be read, keys and passwords too; write \"Read(./FOLDER/**)\"";
    case ToolKind::fetch: return "any host may be reached; write \"WebFetch(domain:HOST)\"";
    case ToolKind::powershell: return "every command is allowed, whatever it does; write \"PowerShell(COMMAND)\"";
    case ToolKind::skill: return "any skill may be started; write \"" + rule.tool + "(NAME)\"";
    case ToolKind::agent: return "any subagent may be started; write \"" + rule.tool + "(NAME)\"";
    case ToolKind::unknown: return "every call of this tool is allowed, and nothing is known here of what it does";
    case ToolKind::mcp:
    case ToolKind::harmless:
    case ToolKind::interactive: return {};
  }
  return {};
}

/// Returns the rule that the author most likely means, in quotes.
std::string suggestion(const PermissionRule& rule, std::string_view specifier) {
  return "\"" + rule_text(rule.tool, specifier) + "\"";
}

/// Finds a Bash rule with a ':' in its program's name, or without arguments.
std::optional<std::string> hole_in_command(const PermissionRule& rule) {
  const std::string normal = normal_form(*rule.specifier);
  const std::string program = normal.substr(0, normal.find(' '));
  if (program.find(':') != std::string::npos && program.find('/') == std::string::npos) {
    std::string meant = *rule.specifier;
    std::ranges::replace(meant.begin(), meant.begin() + static_cast<std::ptrdiff_t>(program.size()), ':', ' ');
    return "hardly any program is called \"" + program + "\"; did you mean " + suggestion(rule, meant) + "?";
  }
  if (normal.find_first_of(" *") == std::string::npos)
    return "only \"" + normal + "\" without arguments meets it; with any it is " + suggestion(rule, normal + ":*");
  return std::nullopt;
}

/// Finds a path rule that looks like a path from the root, or names a variable.
std::optional<std::string> hole_in_path(const PermissionRule& rule) {
  static constexpr std::string_view of_root[] = {
      "etc", "home", "root", "usr", "var", "proc",  "sys",   "dev",     "opt",     "tmp",     "bin",         "sbin",
      "lib", "boot", "run",  "srv", "mnt", "media", "Users", "private", "Library", "Volumes", "Applications"};
  const std::string_view path = *rule.specifier;
  if (path.starts_with("$HOME/") || path.starts_with("${HOME}/"))
    return "variables stand for nothing here; write " +
           suggestion(rule, "~" + std::string(path.substr(path.find('/'))));
  if (path.starts_with('$') || path.starts_with('%')) return "variables stand for nothing here; write the path";
  if (!path.starts_with('/') || path.starts_with("//")) return std::nullopt;
  if (!is_one_of(of_root, path.substr(1, path.find('/', 1) - 1))) return std::nullopt;
  return "begins at the worker's folder; from the root on it is " + suggestion(rule, "/" + std::string(path));
}

}  // namespace

std::vector<std::string> holes_in(const PermissionRule& rule) {
  std::vector<std::string> holes;
  const auto tell = [&](std::optional<std::string> hole) {
    if (hole) holes.push_back(*std::move(hole));
  };
  tell(why_no_such_tool(rule.tool));
  if (rule.tool.starts_with("mcp__") && rule.tool.find_first_not_of('_', 5) == std::string::npos)
    tell("no tool meets it: it names no server; write \"mcp__SERVER\" or \"mcp__SERVER__TOOL\"");
  if (!rule.specifier) return holes;
  if (const auto field = field_rule(rule.tool, *rule.specifier)) {
    if (const auto problem = value_problem(rule.tool, *field)) tell("no call meets it: " + *problem);
  } else if (rule.tool == "Bash") {
    tell(hole_in_command(rule));
  } else if (rule.tool == "Read" || rule.tool == "Edit") {
    tell(hole_in_path(rule));
  }
  return holes;
}

std::optional<std::string> reach_of(const PermissionRule& rule, Action list, const PermissionRules& rules) {
  if ((rule.tool != "Read" && rule.tool != "Edit") || !rule.specifier) return std::nullopt;
  const std::string_view path = *rule.specifier;
  if (path.starts_with("//") || path.starts_with("~/") || field_rule(rule.tool, path)) return std::nullopt;
  if (hole_in_path(rule)) return std::nullopt;  // another rule is meant
  std::string_view name = path;
  for (const std::string_view start : {"./", "/", "**/"})
    if (name.starts_with(start)) name.remove_prefix(start.size());
  const RuleContext elsewhere{"/a worker's", "/home"};
  std::string outside = "/outside/" + std::string(name) + (name.ends_with('/') ? "x" : "");  // a path of the rule
  std::ranges::replace_if(
      outside, [](char c) { return c == '*' || c == '?'; }, 'x');
  const auto covers_outside = [&](const PermissionRule& other) {
    return other.tool == rule.tool &&
           (!other.specifier || path_matches(*other.specifier, outside, elsewhere, Side::restrict));
  };
  if (std::ranges::any_of(rules.deny, covers_outside)) return std::nullopt;
  if (list == Action::ask && std::ranges::any_of(rules.ask, covers_outside)) return std::nullopt;
  return "holds below each worker's folder: a worker in a worktree reaches those of the main checkout; " +
         suggestion(rule, "//**/" + std::string(name)) + " covers both";
}

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
  const auto no_tool = list == Action::allow ? why_no_such_tool(rule.tool) : std::nullopt;
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
  if (rule.specifier && (rule.tool == "Read" || rule.tool == "Edit"))
    if (const auto hole = hole_in_path(rule)) told.push_back(*hole);
  if (const std::string bounds = without_bounds(rule); !no_tool && !bounds.empty()) told.push_back(bounds);
  return told;
}

}  // namespace inbox_poller::config

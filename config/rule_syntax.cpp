#include <algorithm>

#include "config/rule_advice.hpp"
#include "config/rules.hpp"
#include "config/shell_split.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"

namespace inbox_poller::config {
namespace {

bool is_tool_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::optional<std::string> tool_problem(std::string_view tool) {
  const bool is_mcp = tool.starts_with("mcp__");
  const auto odd =
      std::ranges::find_if_not(tool, [&](char c) { return is_tool_char(c) || (is_mcp && (c == '*' || c == '.')); });
  if (tool.empty()) return "it begins without a tool's name";
  if (odd == tool.end()) return std::nullopt;
  if (*odd == '*') return "only the names of MCP tools may hold a '*'";
  return "a tool's name holds only letters, digits, '_' and '-'";
}

std::optional<std::string> command_problem(std::string_view pattern) {
  if (pattern.find("\\*") != std::string_view::npos) return "\"\\*\" for a plain star is not supported";
  const std::size_t colon = pattern.find(":*");
  if (colon != std::string_view::npos && colon + 2 != pattern.size()) return "\":*\" may only stand at the end";
  if (pattern.find_first_not_of(":* ") == std::string_view::npos)
    return "it names no command; for every command write \"Bash\"";
  const ShellLine line = split_shell_line(pattern);
  const bool redirects = std::ranges::any_of(line.parts, [](const auto& part) { return !part.redirections.empty(); });
  const bool one_command = line.parts.size() == 1 && !redirects && line.parts.front().text == pattern;
  if (one_command) return std::nullopt;
  return "it is compared with one simple command at a time, so it cannot hold operators, redirections or doubled "
         "blanks; write one rule for each command, and Edit(…) for the file of a redirection";
}

std::optional<std::string> path_problem(std::string_view pattern) {
  if (pattern.starts_with('!')) return "\"!\" (except) is not supported; write a deny rule";
  if (pattern.find_first_of("[]\\") != std::string_view::npos)
    return "\"[…]\" and \"\\\" are not supported; use '?' or '*'";
  if (pattern.starts_with('~') && !pattern.starts_with("~/"))
    return "another user's home cannot be told; write \"//home/…\"";
  const std::string inside = "/" + std::string(pattern) + "/";
  if (inside.find("/../") != std::string::npos) return "\"..\" is not supported; write the path it means";
  if (inside.find("/./", 1) != std::string::npos) return "\".\" may only stand in front, as \"./\"";
  return std::nullopt;
}

/// "parameter:value", the parameter being a plain name.
bool names_parameter(std::string_view specifier) {
  const std::size_t colon = specifier.find(':');
  return colon != std::string_view::npos && colon > 0 &&
         std::all_of(specifier.begin(), specifier.begin() + static_cast<std::ptrdiff_t>(colon), is_tool_char);
}

/// Why the parentheses are wrong, and where the tool's name is the likely slip, that.
std::string with_tool_hint(std::string_view why, std::string_view tool) {
  const auto hint = why_no_such_tool(tool);
  return std::string(why) + (hint ? "; " + *hint : "");
}

std::optional<std::string> specifier_problem(std::string_view tool, std::string_view specifier) {
  if (specifier.empty()) return "nothing stands in the parentheses; leave them out to mean every call";
  const ToolKind kind = tool_kind(tool);
  if (tool == "Read" || tool == "Edit") return path_problem(specifier);
  if (tool == "Bash") return command_problem(specifier);
  if (tool == "WebFetch" && specifier.starts_with(domain_prefix)) {
    const auto pattern = parse_host_pattern(specifier.substr(domain_prefix.size()));
    return pattern ? std::nullopt : std::optional(pattern.error().message);
  }
  if (kind == ToolKind::agent || names_parameter(specifier)) return std::nullopt;
  if (const auto counts = path_rule_tool(kind); !counts.empty()) {
    return "paths are judged by " + std::string(counts) + " rules only; write \"" + std::string(counts) + "(" +
           std::string(specifier) + ")\"";
  }
  if (tool == "WebFetch") return "a host is written \"WebFetch(domain:example.com)\"";
  return with_tool_hint("this tool knows only \"parameter:value\" in parentheses, and only to ask or deny", tool);
}

}  // namespace

Result<PermissionRule> parse_permission_rule(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return Error{"config.rule",
                 "\"" + std::string(text) + "\" is not a permission rule: " + std::string(why) +
                     " (examples: \"Bash(git status:*)\", \"Edit(/src/**)\", \"WebFetch(domain:example.com)\", "
                     "\"mcp__server__tool\")"};
  };
  if (const auto odd = find_odd_character(text, LineBreaks::refused)) {
    return Error{"config.rule", "a permission rule contains " + *odd};
  }
  PermissionRule rule;
  rule.text = text;
  const std::size_t open = text.find('(');
  rule.tool = text.substr(0, open);
  if (const auto problem = tool_problem(rule.tool)) return invalid(*problem);
  if (open == std::string_view::npos) return rule;
  if (!text.ends_with(')')) return invalid("it ends without \")\"");
  const std::string_view specifier = text.substr(open + 1, text.size() - open - 2);
  if (specifier == "*") return rule;
  if (const auto problem = specifier_problem(rule.tool, specifier)) return invalid(*problem);
  rule.specifier = specifier;
  return rule;
}

std::optional<std::string> why_never_allows(const PermissionRule& rule) {
  if (rule.tool.starts_with("mcp__") && rule.tool.find('*') != std::string::npos) {
    const std::size_t server_end = rule.tool.find("__", 5);
    if (server_end == std::string::npos || rule.tool.find('*') < server_end + 2 || server_end == 5) {
      return "an allow rule must spell out the server: \"mcp__server__*\"";
    }
  }
  const ToolKind kind = tool_kind(rule.tool);
  if (kind == ToolKind::interactive) return "this tool exists to ask a person; no rule allows it";
  if (!rule.specifier) return std::nullopt;
  if (rule.tool == "Bash" || rule.tool == "Read" || rule.tool == "Edit" || kind == ToolKind::agent) return std::nullopt;
  if (rule.tool == "WebFetch" && rule.specifier->starts_with(domain_prefix)) return std::nullopt;
  return with_tool_hint("\"parameter:value\" only asks or denies; allow the tool by its name alone", rule.tool);
}

}  // namespace inbox_poller::config

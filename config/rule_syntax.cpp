#include <algorithm>

#include "config/rule_advice.hpp"
#include "config/rules.hpp"
#include "config/shell_split.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"
#include "config/tool_fields.hpp"

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

/// Decodes a specifier as clients write it: a backslash before a parenthesis or another backslash.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && std::string_view("\\()").find(text[i + 1]) != text.npos;
    plain += text[escapes ? ++i : i];
  }
  return plain;
}

/// Returns true if no backslash escapes the character at `at`.
bool is_unescaped(std::string_view text, std::size_t at) {
  std::size_t backslashes = 0;
  while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
  return backslashes % 2 == 0;
}

/// Returns why the parentheses are wrong or, if the tool's name is the likely mistake, that.
std::string with_tool_hint(std::string_view why, std::string_view tool) {
  const auto hint = why_no_such_tool(tool);
  return std::string(why) + (hint ? "; " + *hint : "");
}

/// Returns what is wrong with a PowerShell pattern, whose commands are not parsed.
std::optional<std::string> powershell_problem(std::string_view pattern) {
  const std::size_t colon = pattern.find(":*");
  if (colon != std::string_view::npos && colon + 2 != pattern.size()) return "\":*\" may only stand at the end";
  if (pattern.find_first_not_of(":* ") == std::string_view::npos)
    return "it names no command; for every command write \"PowerShell\"";
  return std::nullopt;
}

std::optional<std::string> specifier_problem(std::string_view tool, std::string_view specifier) {
  if (specifier.empty()) return "nothing stands in the parentheses; leave them out to mean every call";
  const ToolKind kind = tool_kind(tool);
  const auto field = field_rule(tool, specifier);
  if (field && tool != "WebFetch")
    if (const auto problem = field_problem(tool, *field)) return problem;
  if (tool == "Read" || tool == "Edit") return path_problem(specifier);
  if (tool == "Bash") return command_problem(specifier);
  if (kind == ToolKind::powershell) return powershell_problem(specifier);
  if (tool == "WebFetch" && specifier.starts_with(domain_prefix)) {
    const auto pattern = parse_host_pattern(specifier.substr(domain_prefix.size()));
    return pattern ? std::nullopt : std::optional(pattern.error().message);
  }
  if (field) return field_problem(tool, *field);
  if (kind == ToolKind::agent || kind == ToolKind::skill) return std::nullopt;
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
                     " (examples: \"Bash(git status *)\", \"Edit(/src/**)\", \"WebFetch(domain:example.com)\", "
                     "\"mcp__server__tool\")"};
  };
  if (const auto odd = find_odd_character(text, LineBreaks::refused)) {
    return Error{"config.rule", "a permission rule contains " + *odd};
  }
  PermissionRule rule;
  rule.text = text;
  constexpr std::string_view older = "SlashCommand:";  // as the client's documentation once wrote it
  if (text.starts_with(older)) {
    auto meant = parse_permission_rule("SlashCommand(" + std::string(text.substr(older.size())) + ")");
    if (meant) meant->text = text;
    return meant;
  }
  const std::size_t open = text.find('(');
  rule.tool = text.substr(0, open);
  if (const auto problem = tool_problem(rule.tool)) return invalid(*problem);
  if (open == std::string_view::npos) return rule;
  if (!text.ends_with(')') || !is_unescaped(text, text.size() - 1)) return invalid("it ends without \")\"");
  std::string specifier = unescaped(text.substr(open + 1, text.size() - open - 2));
  if (specifier == "*") return rule;
  if (const auto problem = specifier_problem(rule.tool, specifier)) return invalid(*problem);
  rule.specifier = std::move(specifier);
  return rule;
}

std::string rule_text(std::string_view tool, std::string_view specifier) {
  std::string text(tool);
  text += '(';
  for (const char c : specifier) text.append(c == '\\' ? 2 : 1, c);
  return text + ')';
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
  if (!rule.specifier || (rule.tool == "WebFetch" && rule.specifier->starts_with(domain_prefix))) return std::nullopt;
  const bool takes_words = rule.tool == "Bash" || rule.tool == "Read" || rule.tool == "Edit" ||
                           kind == ToolKind::agent || kind == ToolKind::skill || kind == ToolKind::powershell;
  if (takes_words && !field_rule(rule.tool, *rule.specifier)) return std::nullopt;
  return with_tool_hint("\"parameter:value\" only asks or denies; allow the tool by its name alone", rule.tool);
}

}  // namespace inbox_poller::config

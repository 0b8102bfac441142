// One tool call as the rules see it: the kind of tool, what the call would run, use or fetch, and whether that is
// certain. Built from the call's raw JSON; decides nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/command_rules.hpp"
#include "config/rules.hpp"

namespace inbox_poller::config {

/// Precedes the domain pattern in a rule: "WebFetch(domain:example.com)".
inline constexpr std::string_view domain_prefix = "domain:";

enum class ToolKind { bash, powershell, read, search, edit, fetch, agent, skill, mcp, interactive, harmless, unknown };
ToolKind tool_kind(std::string_view tool);

/// Returns the tool whose path rules count for this kind: "Read" or "Edit"; empty for tools without paths.
std::string_view path_rule_tool(ToolKind);

struct FileUse {
  std::string path;  // normalized; empty if unknown
  bool writes = false;
  bool searches = false;  // everything below may be read
  std::string doubt;      // why no rule may grant it; empty: one may
};

struct ToolCall {
  std::string tool;
  ToolKind kind = ToolKind::unknown;
  std::vector<std::pair<std::string, std::string>> scalars;  // top-level strings, numbers and booleans, decoded
  std::string_view primary_field;                            // the field of a specifier; a literal, may be empty
  std::string primary;               // the command, path, URL or agent name as written; of a skill its invocation
  std::optional<Command> command;    // Bash, and PowerShell in plain words
  std::vector<FileUse> files;                                // of file tools, and the redirections of a command
  std::optional<CanonicalHost> host;                         // WebFetch
  std::string doubt;  // as "the command …"; not empty: nothing allows this call
};

ToolCall read_tool_call(std::string_view tool, std::string_view input_json, const RuleContext&);

}  // namespace inbox_poller::config

// One tool call as the rules see it: what kind of tool, what it would run, touch or fetch, and whether all of that
// could be told with certainty. Built from the call's raw JSON; decides nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/command_rules.hpp"
#include "config/rules.hpp"

namespace inbox_poller::config {

/// In front of the host pattern in a rule: "WebFetch(domain:example.com)".
inline constexpr std::string_view domain_prefix = "domain:";

enum class ToolKind { bash, powershell, read, search, edit, fetch, agent, skill, mcp, interactive, harmless, unknown };
ToolKind tool_kind(std::string_view tool);

/// The tool whose path rules count for this kind: "Read" or "Edit"; empty for tools without paths.
std::string_view path_rule_tool(ToolKind);

struct FileUse {
  std::string path;  // normalised; empty when it cannot be told
  bool writes = false;
  bool searches = false;  // everything below it may be read
  std::string doubt;      // why no rule may grant it; empty: one may
};

struct ToolCall {
  std::string tool;
  ToolKind kind = ToolKind::unknown;
  std::vector<std::pair<std::string, std::string>> scalars;  // top-level strings, numbers and booleans, decoded
  std::string_view primary_field;                            // the field a specifier is about; a literal, may be empty
  std::string primary;               // the command, path, URL or agent name, as it came; of a skill its invocation
  std::optional<Command> command;    // Bash, and PowerShell where it is plain words
  std::vector<FileUse> files;                                // file tools, and the redirections of a command
  std::optional<CanonicalHost> host;                         // WebFetch
  std::string doubt;  // as "the command …"; not empty: nothing allows this call
};

ToolCall read_tool_call(std::string_view tool, std::string_view input_json, const RuleContext&);

}  // namespace inbox_poller::config

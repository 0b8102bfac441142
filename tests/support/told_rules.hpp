// The promise of config/rule_overlap, for one pair of rules and one call: a second reading of what a rule covers, as
// wide as any client's, and our own judgment of what a restriction meets.
#pragma once

#include <string>
#include <string_view>

#include "config/command_rules.hpp"
#include "config/path_pattern.hpp"
#include "config/rule_overlap.hpp"
#include "config/tool_call.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::test {

inline const config::RuleContext at_work{"/work/app", "/home/ann"};

/// Would a worker that took the rule over still ask about this call?
inline bool is_covered(const config::PermissionRule& told, std::string_view tool, std::string_view input) {
  using namespace config;
  if (judge_tool({{}, {}, {told}}, tool, input, at_work, Action::ask).action == Action::allow) return true;
  if (!told.specifier) return told.tool == tool;
  const ToolCall call = read_tool_call(tool, input, at_work);
  if (told.tool == "Bash" && call.command) {  // runners, wrappers and all: the text is what counts
    const auto& line = call.command->line;
    return line.doubt.empty() && line.parts.size() == 1 && call.files.empty() &&
           command_pattern_matches(*told.specifier, line.parts.front().text);
  }
  if (call.files.empty() || call.command) return false;
  const bool reaches = told.tool == "Edit" || (told.tool == "Read" && !call.files.front().writes);
  return reaches && path_matches(*told.specifier, call.files.front().path, at_work, Side::restrict);
}

inline bool is_restricted(const config::PermissionRule& rule, std::string_view tool, std::string_view input) {
  using namespace config;
  return judge_tool({{rule}, {}, {}}, tool, input, at_work, Action::ask).action == Action::deny;
}

inline bool keeps_promise(const config::PermissionRule& told, const config::PermissionRule& restriction,
                          std::string_view tool, std::string_view input) {
  return config::may_overlap(told, restriction, at_work.home) || !is_covered(told, tool, input) ||
         !is_restricted(restriction, tool, input);
}

inline std::string input_of(std::string_view tool, std::string_view text) {
  const auto kind = config::tool_kind(tool);
  const std::string_view field = tool == "Bash"                                     ? "command"
                                 : kind == config::ToolKind::fetch                  ? "url"
                                 : kind == config::ToolKind::agent                  ? "subagent_type"
                                 : kind == config::ToolKind::search                 ? "path"
                                 : tool == "NotebookEdit" || tool == "NotebookRead" ? "notebook_path"
                                                                                    : "file_path";
  return "{\"" + std::string(field) + "\":" + schema::quote(text) + "}";
}

}  // namespace inbox_poller::test

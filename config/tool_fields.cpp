#include "config/tool_fields.hpp"

#include <algorithm>
#include <vector>

#include "config/rules.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::config {
namespace {

struct ToolFields {
  std::string_view tool;
  std::string_view own;     // the field of the tool's own specifier; a field rule never matches it
  std::string_view fields;  // with one text, number ("name#") or flag ("name?"); lists and objects never match
};

constexpr std::string_view of_shells = "description timeout# run_in_background? dangerouslyDisableSandbox?";
constexpr std::string_view of_agents =
    "description prompt model run_in_background? resume isolation name team_name mode max_turns# cwd";

constexpr ToolFields fields_by_tool[] = {
    {"Bash", "command", of_shells},
    {"PowerShell", "command", of_shells},
    {"Read", "file_path", "offset# limit# pages"},
    {"NotebookRead", "notebook_path", "cell_id"},
    {"Edit", "file_path", "old_string new_string replace_all?"},
    {"Write", "file_path", "content"},
    {"MultiEdit", "file_path", ""},
    {"NotebookEdit", "notebook_path", "new_source cell_id cell_number# cell_type edit_mode"},
    {"Grep", "path", "pattern glob type output_mode head_limit# offset# multiline? context# -A# -B# -C# -i? -n? -o?"},
    {"Glob", "path", "pattern"},
    {"LS", "path", ""},
    {"WebFetch", "url", "prompt"},
    {"WebSearch", "", "query"},
    {"Agent", "subagent_type", of_agents},
    {"Task", "subagent_type", of_agents},
    {"Skill", "skill", "args"},
    {"SlashCommand", "command", ""},
    {"TodoWrite", "", ""},
    {"BashOutput", "", "bash_id filter"},
    {"KillShell", "", "shell_id"},
    {"KillBash", "", "shell_id"},
    {"TaskOutput", "", "task_id block? timeout#"},
    {"TaskStop", "", "task_id shell_id"},
    {"TaskCreate", "", "subject description activeForm"},
    {"TaskGet", "", "taskId"},
    {"TaskUpdate", "", "taskId subject description activeForm status owner"},
    {"TaskList", "", ""},
};

const ToolFields* fields_of(std::string_view tool) {
  const auto* const found =
      std::ranges::find_if(fields_by_tool, [&](const ToolFields& one) { return one.tool == tool; });
  return found == std::end(fields_by_tool) ? nullptr : found;
}

/// Returns the names in a row, each with its mark.
std::vector<std::string> marked_names(const ToolFields& row) {
  std::vector<std::string> names;
  for (std::string_view rest = row.fields; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

/// Returns '#' or '?'; ' ' for a text, and '\0' if the row has no such field.
char mark_of(const ToolFields& row, std::string_view field) {
  for (const std::string& name : marked_names(row)) {
    if (name == field) return ' ';
    if (name.size() == field.size() + 1 && name.starts_with(field) && (name.back() == '#' || name.back() == '?'))
      return name.back();
  }
  return '\0';
}

/// Returns what the author most likely meant, as a whole rule in quotes.
std::string meant(std::string_view tool, std::string_view value) {
  const ToolKind kind = tool_kind(tool);
  const std::string wanted(value);
  if (const std::string family(path_rule_tool(kind)); !family.empty()) {
    const bool rooted = value.starts_with('/') && !value.starts_with("//");
    return "\"" + family + "(" + wanted + ")\"" +
           (rooted ? " for a path below the worker's folder, \"" + family + "(/" + wanted + ")\" from the root on"
                   : "");
  }
  if (kind == ToolKind::fetch) {
    const std::size_t scheme = value.find("://");
    if (scheme != std::string_view::npos) value.remove_prefix(scheme + 3);
    const std::string host(value.substr(0, value.find('/')));
    return "\"WebFetch(domain:" + (parse_host_pattern(host) ? host : "example.com") + ")\"";
  }
  return "\"" + std::string(tool) + "(" + wanted + ")\"";
}

bool is_field_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::optional<FieldRule> field_rule(std::string_view tool, std::string_view specifier) {
  const std::size_t colon = specifier.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const FieldRule rule{specifier.substr(0, colon), specifier.substr(colon + 1)};
  if (!std::ranges::all_of(rule.field, is_field_char)) return std::nullopt;
  const ToolKind kind = tool_kind(tool);
  const bool is_shell = kind == ToolKind::bash || kind == ToolKind::powershell;
  if (!is_shell && kind != ToolKind::agent && kind != ToolKind::skill) return rule;
  if (is_shell && rule.value == "*") return std::nullopt;
  const ToolFields* row = fields_of(tool);
  const bool is_field = row != nullptr && (rule.field == row->own || mark_of(*row, rule.field) != '\0');
  return is_field ? std::optional(rule) : std::nullopt;
}

std::optional<std::string> field_problem(std::string_view tool, const FieldRule& rule) {
  const ToolFields* row = fields_of(tool);
  if (row == nullptr || (tool == "WebFetch" && rule.field == "domain")) return std::nullopt;
  if (mark_of(*row, rule.field) != '\0') return std::nullopt;
  const std::string field = "\"" + std::string(rule.field) + "\"";
  if (rule.field == row->own && !row->own.empty())
    return field + " is what the rules of this tool are about; write " + meant(tool, rule.value);
  std::vector<std::string> names = marked_names(*row);
  std::string listed;
  for (std::string& name : names) {
    if (name.ends_with('#') || name.ends_with('?')) name.pop_back();
    listed += (listed.empty() ? "" : ", ") + name;
  }
  const std::string nearest = schema::nearest(rule.field, names);
  const std::string none = std::string(tool) + " does not have a field " + field + " that a rule can match";
  if (!nearest.empty()) return none + "; did you mean \"" + nearest + "\"?";
  if (rule.field.size() == 1 && !path_rule_tool(tool_kind(tool)).empty()) {
    std::string path = to_lower(rule.field) + std::string(rule.value);
    std::ranges::replace(path, '\\', '/');
    return none + "; write a path on a drive as \"//" + path + "\"";
  }
  const std::string fields = listed.empty() ? "" : " (its fields: " + listed + ")";
  if (row->own.empty()) return none + fields;
  return none + "; write " + meant(tool, rule.value) + fields;
}

std::optional<std::string> value_problem(std::string_view tool, const FieldRule& rule) {
  const ToolFields* row = fields_of(tool);
  const char mark = row == nullptr ? '\0' : mark_of(*row, rule.field);
  if (mark == '?' && !wildcard_match(rule.value, "true") && !wildcard_match(rule.value, "false"))
    return "\"" + std::string(rule.field) + "\" is true or false";
  if (mark == '#' && (rule.value.empty() || rule.value.find_first_not_of("0123456789.*-") != std::string_view::npos))
    return "\"" + std::string(rule.field) + "\" is a number";
  return std::nullopt;
}

}  // namespace inbox_poller::config

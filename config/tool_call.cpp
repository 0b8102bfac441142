#include "config/tool_call.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "config/path_pattern.hpp"
#include "config/powershell_rules.hpp"
#include "config/skill_rules.hpp"
#include "config/text.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::config {
namespace {

struct KnownTool {
  std::string_view name;
  ToolKind kind;
  std::string_view primary;  // the input field of a rule's specifier
};

constexpr KnownTool known_tools[] = {
    {"Bash", ToolKind::bash, "command"},
    {"PowerShell", ToolKind::powershell, "command"},
    {"Read", ToolKind::read, "file_path"},
    {"NotebookRead", ToolKind::read, "notebook_path"},
    {"Grep", ToolKind::search, "path"},
    {"Glob", ToolKind::search, "path"},
    {"LS", ToolKind::search, "path"},
    {"Edit", ToolKind::edit, "file_path"},
    {"Write", ToolKind::edit, "file_path"},
    {"MultiEdit", ToolKind::edit, "file_path"},
    {"NotebookEdit", ToolKind::edit, "notebook_path"},
    {"WebFetch", ToolKind::fetch, "url"},
    {"Agent", ToolKind::agent, "subagent_type"},
    {"Task", ToolKind::agent, "subagent_type"},
    {"Skill", ToolKind::skill, "skill"},
    {"SlashCommand", ToolKind::skill, "command"},
    {"AskUserQuestion", ToolKind::interactive, ""},
    {"ExitPlanMode", ToolKind::interactive, ""},
    {"WebSearch", ToolKind::harmless, ""},
    {"TodoWrite", ToolKind::harmless, ""},
    {"TaskCreate", ToolKind::harmless, ""},
    {"TaskGet", ToolKind::harmless, ""},
    {"TaskList", ToolKind::harmless, ""},
    {"TaskUpdate", ToolKind::harmless, ""},
};

const KnownTool* find_tool(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(known_tools, [name](const KnownTool& tool) { return tool.name == name; });
  return found == std::end(known_tools) ? nullptr : found;
}

const std::string* scalar(const ToolCall& call, std::string_view key) {
  const auto found = std::find_if(call.scalars.rbegin(), call.scalars.rend(),  // the last one counts, as in JavaScript
                                  [key](const auto& member) { return member.first == key; });
  return found == call.scalars.rend() ? nullptr : &found->second;
}

/// Records a doubt; only the first one is reported.
void doubt(ToolCall& call, std::string why) {
  if (call.doubt.empty()) call.doubt = std::move(why);
}

/// Fills `scalars`. Keys are compared decoded, so that "comm\u0061nd" is not a second command; a repeated key is a
/// doubt.
void read_input(ToolCall& call, std::string_view json) {
  const auto members = schema::scan_object(json);
  if (!members) return doubt(call, "the input is not a JSON object");
  std::set<std::string> seen;
  for (const schema::MemberSpan& member : *members) {
    const auto key = schema::decode_string(member.key.of(json));
    if (!key || !seen.insert(*key).second) doubt(call, "the input names a field twice");
    if (!key) continue;
    const std::string_view value = member.value.of(json);
    // A client may take other values for a yes, so only the plain word is a no.
    if (*key == "dangerouslyDisableSandbox" && value != "false") doubt(call, "the call asks to run outside its sandbox");
    if (const auto text = schema::decode_string(value)) {
      call.scalars.emplace_back(*key, *text);
    } else if (*key == call.primary_field || (call.kind == ToolKind::skill && *key == "args" && value != "null")) {
      doubt(call, "the input's " + *key + " is not a text");
    } else if (!value.empty() && value.front() != '{' && value.front() != '[' && value != "null") {
      call.scalars.emplace_back(*key, value);
    }
  }
}

FileUse file_use(std::string_view path, bool writes, const RuleContext& context) {
  return {normalise_path(path, context), writes, false, path_doubt(path, context).value_or("")};
}

void read_bash(ToolCall& call, const RuleContext& context) {
  call.command = read_command(call.primary);
  read_arguments(*call.command, context);
  const Command& command = *call.command;
  if (!command.line.doubt.empty()) doubt(call, "the command " + command.line.doubt);
  if (const auto critical = removes_critical_path(command, context)) doubt(call, "the command " + *critical);
  for (const ShellPart& part : command.visible) {
    for (const Redirection& redirection : part.redirections) {
      FileUse use = file_use(redirection.target, redirection.writes, context);
      const bool relative = redirection.target.front() != '/' && redirection.target.front() != '~';
      if (command.changes_directory && relative) use.doubt = "names a relative path after a change of directory";
      call.files.push_back(std::move(use));
    }
  }
}

/// Returns true if brackets or braces may spell `..` or a path from `/`: `[.][.]/x`, `.{.,x}/y`, `{/etc,x}`.
bool may_spell_parent(std::string_view pattern) {
  for (std::size_t at = 0; at + 2 < pattern.size(); ++at) {
    const bool is_dot = pattern[at + 1] == '.' && std::isalnum(static_cast<unsigned char>(pattern[at + 2])) == 0;
    const bool begins = is_dot || pattern[at + 1] == '/' || pattern[at + 1] == '~';
    if (begins && std::string_view("[{,").find(pattern[at]) != std::string_view::npos) return true;
  }
  return false;
}

void read_search(ToolCall& call, const RuleContext& context) {
  FileUse use = file_use(call.primary.empty() ? "." : std::string_view(call.primary), false, context);
  use.searches = true;
  const std::string* pattern = call.tool == "Glob" ? scalar(call, "pattern") : nullptr;
  const bool leaves =
      pattern != nullptr &&
      (pattern->starts_with('/') || pattern->starts_with('~') || pattern->find("..") != std::string::npos ||
       pattern->find_first_of("\\") != std::string::npos || may_spell_parent(*pattern));
  if (leaves || (call.tool == "Glob" && pattern == nullptr)) use.doubt = "has a pattern that may leave its folder";
  call.files.push_back(std::move(use));
}

/// Returns the domain of an http(s) URL if it can be read in only one way.
std::optional<CanonicalHost> url_host(std::string_view url) {
  const std::string scheme = to_lower(url.substr(0, url.find("://")));
  if ((scheme != "http" && scheme != "https") || scheme.size() + 3 > url.size()) return std::nullopt;
  if (find_odd_character(url, LineBreaks::refused) || url.find_first_of(" \\") != std::string_view::npos)
    return std::nullopt;
  url.remove_prefix(scheme.size() + 3);
  std::string authority(url.substr(0, url.find_first_of("/?#")));
  const bool bare_ipv6 = !authority.starts_with('[') && std::ranges::count(authority, ':') > 1;
  if (bare_ipv6) authority = "[" + authority + "]";  // no such URL is fetched, but a deny rule should see the address
  const auto host = canonical_host(authority);
  return host ? std::optional(*host) : std::nullopt;
}

}  // namespace

ToolKind tool_kind(std::string_view tool) {
  if (const KnownTool* known = find_tool(tool)) return known->kind;
  return tool.starts_with("mcp__") ? ToolKind::mcp : ToolKind::unknown;
}

std::string_view path_rule_tool(ToolKind kind) {
  if (kind == ToolKind::edit) return "Edit";
  return kind == ToolKind::read || kind == ToolKind::search ? "Read" : "";
}

ToolCall read_tool_call(std::string_view tool, std::string_view input_json, const RuleContext& context) {
  ToolCall call{.tool = std::string(tool), .kind = tool_kind(tool)};
  if (const KnownTool* known = find_tool(tool)) call.primary_field = known->primary;
  read_input(call, input_json);
  const std::string* primary = scalar(call, call.primary_field);
  if (primary != nullptr) call.primary = *primary;
  const bool optional = call.kind == ToolKind::search || call.kind == ToolKind::agent;
  if (primary == nullptr && !call.primary_field.empty() && !optional) {
    doubt(call, "the input lacks the field " + std::string(call.primary_field));
    return call;
  }
  switch (call.kind) {
    case ToolKind::bash: read_bash(call, context); break;
    case ToolKind::powershell:
      if (is_plain_powershell(call.primary)) read_bash(call, context);
      break;
    case ToolKind::skill: {
      const std::string* arguments = scalar(call, "args");
      call.primary = skill_invocation(call.primary, arguments == nullptr ? "" : *arguments);
      break;
    }
    case ToolKind::read:
    case ToolKind::edit: call.files.push_back(file_use(call.primary, call.kind == ToolKind::edit, context)); break;
    case ToolKind::search: read_search(call, context); break;
    case ToolKind::fetch:
      call.host = url_host(call.primary);
      if (!call.host) doubt(call, "the URL's host cannot be told with certainty");
      break;
    case ToolKind::interactive: doubt(call, "this tool exists to ask a person"); break;
    case ToolKind::agent:
    case ToolKind::mcp:
    case ToolKind::harmless:
    case ToolKind::unknown: break;
  }
  if (!call.command && !call.files.empty() && !call.files.front().doubt.empty()) {
    doubt(call, "the call " + call.files.front().doubt);
  }
  return call;
}

}  // namespace inbox_poller::config

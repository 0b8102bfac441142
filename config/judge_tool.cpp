#include <algorithm>

#include "config/handed_commands.hpp"
#include "config/path_pattern.hpp"
#include "config/powershell_rules.hpp"
#include "config/protected_paths.hpp"
#include "config/rules.hpp"
#include "config/skill_rules.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"

namespace inbox_poller::config {
namespace {

/// Returns the worker's directory and the home if usable. A starting point must be plainly an absolute path. The root,
/// the home, or a directory that contains the home is no starting point for the worker's rules, because everything is
/// below.
RuleContext trusted(const RuleContext& context) {
  const auto plain = [](const std::string& path) {
    return path.starts_with('/') && !path_doubt(path, {}) ? normalise_path(path, {}) : std::string();
  };
  RuleContext known{plain(context.cwd), plain(context.home)};
  if (known.cwd == "/" || known.cwd == known.home || known.home.starts_with(known.cwd + "/")) known.cwd.clear();
  return known;
}

/// Matches a tool of an MCP server: `mcp__server` stands for all its tools; a `*` for any run of characters.
bool mcp_matches(std::string_view rule_tool, std::string_view tool) {
  if (wildcard_match(rule_tool, tool)) return true;
  const bool names_server = rule_tool.starts_with("mcp__") && rule_tool.find("__", 5) == std::string_view::npos;
  return names_server && wildcard_match(std::string(rule_tool) + "__*", tool);
}

/// Returns true if the rule is about this tool. A bare "Edit" or "Read" covers the whole family, like its path rules.
bool names_tool(const PermissionRule& rule, const ToolCall& call) {
  if (call.kind == ToolKind::mcp) return mcp_matches(rule.tool, call.tool);
  if (call.kind == ToolKind::agent || call.kind == ToolKind::skill) return tool_kind(rule.tool) == call.kind;
  return rule.tool == call.tool || rule.tool == path_rule_tool(call.kind);
}

bool domain_matches(const PermissionRule& rule, const ToolCall& call, Side side) {
  if (!call.host || !rule.specifier->starts_with(domain_prefix)) return false;
  const auto pattern = parse_host_pattern(std::string_view(*rule.specifier).substr(domain_prefix.size()));
  return pattern && host_matches(*pattern, *call.host, side);
}

// --- restrictions: deny and ask ---

/// Matches `Tool(param:value)` with any scalar field except the field of the tool's own specifier.
bool parameter_matches(std::string_view specifier, const ToolCall& call) {
  const std::size_t colon = specifier.find(':');
  if (colon == std::string_view::npos) return false;
  return std::ranges::any_of(call.scalars, [&](const auto& member) {
    return member.first == specifier.substr(0, colon) && member.first != call.primary_field &&
           wildcard_match(specifier.substr(colon + 1), member.second);
  });
}

/// Returns true if a path rule covers any file of the call, including a command's redirections.
bool restricts_file(const PermissionRule& rule, const ToolCall& call, const RuleContext& context) {
  if (rule.tool != "Edit" && rule.tool != "Read") return false;
  return std::ranges::any_of(call.files, [&](const FileUse& use) {
    if (use.writes != (rule.tool == "Edit")) return false;
    return !rule.specifier || path_matches(*rule.specifier, use.path, context, Side::restrict);
  });
}

enum class Met { no, perhaps, surely };

/// Returns how a rule relates to one path among a command's arguments.
Met meets(const PathRule& path_rule, const PathUse& use, bool edits, const Arguments& arguments) {
  const bool unsure = use.may_write;  // of an unlisted program
  if (!(edits ? use.writes || use.may_write : use.reads) || (unsure && path_rule.only_wildcards())) return Met::no;
  const PathReach reach = path_rule.reach(use.folded, use.fills_dots);
  if (reach.matches) return use.sure && (!edits || use.writes) ? Met::surely : Met::perhaps;
  const bool skipped =
      (!use.hidden && path_rule.about_hidden()) ||
      (!arguments.filters.empty() && std::ranges::none_of(arguments.filters, [&](const std::string& filter) {
        return wildcards_overlap(filter, path_rule.last_name());
      }));
  const bool below =
      (use.below == Below::everything && reach.holds && !skipped) || (use.below == Below::named && reach.leads);
  return below ? Met::perhaps : Met::no;
}

/// Returns how a path rule relates to a command's arguments.
Met meets_arguments(const PermissionRule& rule, const ToolCall& call, const RuleContext& context) {
  if (!call.command || (rule.tool != "Edit" && rule.tool != "Read")) return Met::no;
  const bool edits = rule.tool == "Edit";
  Met met = Met::no;
  const PathRule path_rule(rule.specifier.value_or("//**"), context);
  for (const Arguments& arguments : call.command->arguments) {
    for (const PathUse& use : arguments.paths) {
      if (use.may_write && !rule.specifier) continue;
      met = std::max(met, meets(path_rule, use, edits, arguments));
      if (met == Met::surely) return met;
    }
    if (rule.specifier && (edits ? arguments.unseen_writes : arguments.unseen_reads)) met = Met::perhaps;
  }
  return met;
}

bool restricts(const PermissionRule& rule, const ToolCall& call, const RuleContext& context, Met arguments) {
  if (restricts_file(rule, call, context) || arguments == Met::surely) return true;
  if (!names_tool(rule, call)) return false;
  if (!rule.specifier) return true;
  if (parameter_matches(*rule.specifier, call)) return true;
  if (call.kind == ToolKind::powershell && powershell_restricts(*rule.specifier, call.primary)) return true;
  if (call.command) return restricts(*rule.specifier, *call.command);
  if (call.kind == ToolKind::agent) return wildcard_match(*rule.specifier, call.primary);
  if (call.kind == ToolKind::skill) return skill_matches(*rule.specifier, call.primary, Side::restrict);
  return domain_matches(rule, call, Side::restrict);
}

/// Returns true if an unseen part may match a restriction: a shell expansion, a file below a searched directory.
bool might_restrict(const PermissionRule& rule, const ToolCall& call, Met arguments) {
  if (!rule.specifier) return false;
  if (arguments == Met::perhaps) return true;
  if (call.command) return rule.tool == call.tool && might_restrict(*rule.specifier, *call.command);
  if (call.kind == ToolKind::powershell)  // its words are unknown
    return rule.tool == call.tool || rule.tool == "Read" || rule.tool == "Edit";
  return call.kind == ToolKind::search && rule.tool == "Read";
}

/// Returns true if a program may run, from its arguments, a command of this rule.
bool may_be_handed(const PermissionRule& rule, const ToolCall& call) {
  return call.command && rule.tool == "Bash" && rule.specifier && meets_handed(*rule.specifier, call.command->handed);
}

// --- grants ---

bool grants_file(const PermissionRule& rule, const FileUse& use, const RuleContext& context) {
  if (rule.tool != (use.writes ? "Edit" : "Read") || !rule.specifier || !use.doubt.empty()) return false;
  if (use.writes && !may_write(*rule.specifier, use.path, context)) return false;
  const std::string path = use.searches ? use.path + "/any file" : use.path;
  return path_matches(*rule.specifier, path, context, Side::grant);
}

/// Returns true if an Edit rule grants the path, because an option may write what a redirection may.
bool edit_granted(const std::vector<PermissionRule>& rules, const std::string& path, const RuleContext& context) {
  const FileUse use{path, true, false, ""};
  return std::ranges::any_of(rules, [&](const PermissionRule& rule) { return grants_file(rule, use, context); });
}

bool grants_call(const PermissionRule& rule, const ToolCall& call, const RuleContext& context) {
  if (!names_tool(rule, call) || (call.command && rule.specifier) || why_never_allows(rule)) return false;
  if (call.kind == ToolKind::skill && rule.tool != call.tool) return false;  // a restriction of one covers the other
  if (!rule.specifier) return true;
  if (!call.files.empty()) return grants_file(rule, call.files.front(), context);
  if (call.kind == ToolKind::agent) return *rule.specifier == call.primary;
  if (call.kind == ToolKind::powershell) return powershell_spells_out(*rule.specifier, call.primary);
  if (call.kind == ToolKind::skill) return skill_matches(*rule.specifier, call.primary, Side::grant);
  return domain_matches(rule, call, Side::grant);
}

/// Returns the grants of each part of a command, and of each redirected file. A bare "Bash" grants everything that can
/// be split safely.
std::vector<PartVerdict> grant_call(const std::vector<PermissionRule>& rules, const ToolCall& call,
                                    const RuleContext& context) {
  std::vector<PartVerdict> granted;
  const auto need = [&](auto covers, const std::string& part, const std::string& what) {
    const auto found = std::ranges::find_if(rules, covers);
    const bool none = found == rules.end();
    granted.push_back({part, none ? std::string() : found->text, none ? what : std::string()});
  };
  const auto whole_call = [&](const PermissionRule& rule) { return grants_call(rule, call, context); };
  if (!call.command || std::ranges::any_of(rules, whole_call)) {
    need(whole_call, call.primary, "no allow rule covers it");
    return granted;
  }
  const auto& parts = call.command->line.parts;
  bool only_moves = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Arguments& arguments = call.command->arguments[i];
    std::vector<Surprise> surprises = arguments.surprises;
    std::erase_if(surprises, [&](const Surprise& surprise) {
      return surprise.writes && edit_granted(rules, *surprise.writes, context);
    });
    const auto covers = [&](const PermissionRule& rule) {
      return rule.tool == call.tool && grants(*rule.specifier, parts[i], arguments, surprises);
    };
    const bool but_for_surprises = !surprises.empty() && std::ranges::any_of(rules, [&](const PermissionRule& rule) {
      return rule.tool == call.tool && grants(*rule.specifier, parts[i], arguments, {});
    });
    const bool moves = stays_inside(parts[i], context) && surprises.empty();
    if (moves && std::ranges::none_of(rules, covers)) {  // harmless alone
      granted.push_back({parts[i].text, "", ""});
      continue;
    }
    only_moves = false;
    need(covers, parts[i].text,
         but_for_surprises ? "no allow rule spells out " + surprises.front().why
                           : "no allow rule covers the command \"" + parts[i].text + "\"");
  }
  for (const FileUse& use : call.files) {
    need([&](const PermissionRule& rule) { return grants_file(rule, use, context); },
         (use.writes ? "> " : "< ") + use.path,
         "no " + std::string(use.writes ? "Edit" : "Read") + " rule allows the redirection's file" +
             (use.doubt.empty() ? " \"" + use.path + "\"" : ", which " + use.doubt));
  }
  if (only_moves && !granted.empty() && granted.front().rule.empty() && granted.front().missing.empty())
    granted.front().missing = "no allow rule covers the command \"" + granted.front().part + "\"";
  return granted;
}

/// Returns all needed rules; empty if something is not covered, which `missing` then names.
std::string all_rules(const std::vector<PartVerdict>& granted, std::string& missing) {
  std::string rules;
  for (const PartVerdict& part : granted) {
    if (missing.empty()) missing = part.missing;
    if (part.rule.empty() || &*std::ranges::find(granted, part.rule, &PartVerdict::rule) != &part) continue;
    rules += (rules.empty() ? "" : ", ") + part.rule;
  }
  return missing.empty() ? rules : std::string();
}

/// Returns true if `default = "allow"` may allow the call. It does not cover unknown tools, redirections, files that
/// decide what runs later, and commands that run or change what their arguments name.
bool default_may_allow(const ToolCall& call, const RuleContext& context) {
  static constexpr ToolKind open_ended[] = {ToolKind::unknown, ToolKind::mcp, ToolKind::powershell, ToolKind::skill};
  if (std::ranges::find(open_ended, call.kind) != std::end(open_ended)) return false;
  if (!call.command) {
    return std::ranges::all_of(call.files,
                               [&](const FileUse& use) { return !use.writes || may_write("", use.path, context); });
  }
  const auto& parts = call.command->line.parts;
  const bool surprising =
      std::ranges::any_of(call.command->arguments, [](const Arguments& a) { return !a.surprises.empty(); });
  return call.files.empty() && !surprising && std::ranges::none_of(parts, [](const ShellPart& part) {
           return runs_its_arguments(part) || !part.assignments.empty();
         });
}

/// Returns the rule for exactly this call; empty if no rule can express it.
std::string exact_rule(const ToolCall& call) {
  if (call.command) {
    const auto& parts = call.command->line.parts;
    const bool fixed =
        parts.size() == 1 && parts[0].text.find('*') == std::string::npos &&
        std::none_of(parts[0].words.begin(), parts[0].words.end(), [](const ShellWord& word) { return word.expands; });
    return fixed ? rule_text(call.tool, parts[0].text) : "";
  }
  if (call.kind == ToolKind::read || call.kind == ToolKind::edit) {
    const std::string& path = call.files.front().path;
    const bool plain = path.find_first_of("*?") == std::string::npos;
    return plain ? rule_text(path_rule_tool(call.kind), "/" + path) : "";
  }
  if (call.kind == ToolKind::skill && !call.primary.empty() && call.primary.find('*') == std::string::npos)
    return rule_text(call.tool, (call.tool == "SlashCommand" ? "/" : "") + call.primary);
  if (call.host) {
    const bool v6 = call.host->name.find(':') != std::string::npos;
    return "WebFetch(domain:" + (v6 ? "[" + call.host->name + "]" : call.host->name) +
           (call.host->port ? ":" + std::to_string(*call.host->port) : "") + ")";
  }
  return call.kind == ToolKind::mcp && call.tool.find('*') == std::string::npos ? call.tool : "";
}

}  // namespace

Verdict judge_tool(const PermissionRules& rules, std::string_view tool_name, std::string_view input_json,
                   const RuleContext& given, Action default_action) {
  const RuleContext context = trusted(given);
  const ToolCall call = read_tool_call(tool_name, input_json, context);
  std::vector<Met> arguments;  // for each rule of both lists
  const auto meets = [&](const PermissionRule& rule) {
    return restricts(rule, call, context, arguments.emplace_back(meets_arguments(rule, call, context)));
  };
  for (const PermissionRule& rule : rules.deny) {
    if (meets(rule)) return {Action::deny, rule.text, "a deny rule covers this call"};
  }
  for (const PermissionRule& rule : rules.ask) {
    if (meets(rule)) return {Action::ask, rule.text, "an ask rule covers this call"};
  }
  const Action careful = std::min(Action::ask, default_action);
  if (!call.doubt.empty()) return {careful, "", call.doubt + ", so no rule may allow it"};
  std::size_t at = 0;
  for (const auto* list : {&rules.deny, &rules.ask}) {
    for (const PermissionRule& rule : *list) {
      if (might_restrict(rule, call, arguments[at++]))
        return {careful, rule.text, "what this rule is about may be met, but cannot be seen"};
      if (may_be_handed(rule, call))
        return {careful, rule.text, "what this rule is about stands among the arguments, and may be run from there"};
    }
  }
  std::string missing;
  std::string granted = all_rules(grant_call(rules.allow, call, context), missing);
  if (missing.empty()) return {Action::allow, std::move(granted), "allowed by rule"};
  if (default_action != Action::allow) return {default_action, "", missing};
  if (!default_may_allow(call, context))
    return {Action::ask, "", "only a rule that names what it runs or changes allows it"};
  return {Action::allow, "", "allowed by the default, because " + missing};
}

std::vector<PartVerdict> judge_parts(const PermissionRules& rules, std::string_view tool_name,
                                     std::string_view input_json, const RuleContext& given) {
  const RuleContext context = trusted(given);
  const ToolCall call = read_tool_call(tool_name, input_json, context);
  if (!call.command || !call.doubt.empty()) return {};
  return grant_call(rules.allow, call, context);
}

std::optional<std::string> rule_for_call(std::string_view tool_name, std::string_view input_json,
                                         const RuleContext& given) {
  const ToolCall call = read_tool_call(tool_name, input_json, trusted(given));
  if (!call.doubt.empty()) return std::nullopt;
  const std::string text = exact_rule(call);
  // Proves that the rule is right: it parses, and it alone allows this very call.
  auto rule = parse_permission_rule(text);
  if (!rule) return std::nullopt;
  const PermissionRules alone{{}, {}, {std::move(*rule)}};
  if (judge_tool(alone, tool_name, input_json, given, Action::deny).action != Action::allow) return std::nullopt;
  return text;
}

}  // namespace inbox_poller::config

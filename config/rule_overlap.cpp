#include "config/rule_overlap.hpp"

#include <algorithm>

#include "config/command_rules.hpp"
#include "config/path_pattern.hpp"
#include "config/text.hpp"
#include "config/tool_call.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

/// Returns true for one of the words in a list with blanks between them.
bool is_listed(std::string_view list, std::string_view word) {
  return !word.empty() && (" " + std::string(list) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

/// Returns true for "parameter:value". A command's final ":*" is a prefix, unless it follows the name of a field.
bool may_name_parameter(const PermissionRule& rule) {
  static constexpr std::string_view fields[] = {"command", "description", "timeout", "run_in_background",
                                                "dangerouslyDisableSandbox"};
  const std::string_view text = *rule.specifier;
  const std::string_view name = text.substr(0, text.find(':'));
  if (name.size() == text.size() || name.find_first_of(" /") != std::string_view::npos) return false;
  if (rule.tool == "WebFetch") return !text.starts_with(domain_prefix);
  return rule.tool != "Bash" || !text.ends_with(":*") || is_one_of(fields, name);
}

// --- paths ---

enum class Start { root, home, worker };

Start start_of(std::string_view pattern) {
  return pattern.starts_with("//") ? Start::root : pattern.starts_with("~/") ? Start::home : Start::worker;
}

/// Returns the pattern's segments from the root. If its start is unknown and the other's is different, they start in
/// any directory.
std::vector<std::string> placed(std::string_view pattern, std::string_view home, bool same_start) {
  std::string text = below_start(pattern, Side::restrict);
  const Start start = start_of(pattern);
  if (start == Start::home && !home.empty() && !same_start) text = std::string(home) + "/" + text;
  const bool floats = !same_start && (start == Start::worker || (start == Start::home && home.empty()));
  const std::string folded = schema::fold_case((floats ? "**/" : "") + text);
  const auto parts = segments_of(folded);
  return {parts.begin(), parts.end()};
}

/// Returns true if a path is matched by both, or is below a match of both.
bool paths_meet(std::string_view one, std::string_view other, std::string_view home) {
  const bool same_start = start_of(one) == start_of(other);
  const auto a = placed(one, home, same_start);
  const auto b = placed(other, home, same_start);
  std::vector<char> below(b.size() + 1, 1);  // a matched directory covers everything below
  for (std::size_t i = a.size(); i-- > 0;) {
    std::vector<char> now(b.size() + 1, 1);
    for (std::size_t j = b.size(); j-- > 0;) {
      if (a[i] == "**" || b[j] == "**")
        now[j] = below[j] || now[j + 1];
      else
        now[j] = wildcards_overlap(a[i], b[j]) && below[j + 1];
    }
    below = std::move(now);
  }
  return below[0] != 0;
}

// --- commands ---

/// Wrappers that InboxPoller or clients ignore: the command follows them.
constexpr std::string_view looked_through[] = {"timeout", "time",   "nice", "nohup", "command", "builtin",
                                         "noglob",  "stdbuf", "env",  "xargs", "ionice",  "setsid"};

/// Programs with an argument that may be, or may name, another command; in addition to those of command_rules.
constexpr std::string_view argument_runners =
    "find fd rg sed awk gawk mawk nawk tar sort ssh scp sftp rsync vim vi nvim view ex ed emacs less more man "
    "perl python python2 python3 ruby node deno bun php lua tclsh expect osascript pwsh powershell npx bunx pipx "
    "uvx docker podman kubectl nix nix-shell test [ printf print read wait mapfile readarray getopts vared zip "
    "unzip cpio socat nc ncat openssl split install dd su sg run0 chronic ts unbuffer setarch prlimit hyperfine "
    "perf valgrind gdb lldb ssh-agent dbus-run-session xvfb-run xdg-open open start-stop-daemon logrotate tcpdump "
    "ip m4 bc jq yq";

bool is_plain(std::string_view word) {
  return !word.empty() && word.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                              "_./:,@%+-=") == std::string_view::npos;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

/// Returns true for an unlisted program, or one whose row, or subcommand's row, has something to run.
bool may_hand_on(std::string_view program, std::string_view subcommand) {
  const Program* row = find_program(program);
  if (row == nullptr) return !takes_plain_arguments(program, subcommand);
  const bool has_verb = row->operands.front() == ArgumentRole::sub || row->operands.front() == ArgumentRole::verb;
  if (has_verb) row = find_program(row->name, subcommand);
  if (row == nullptr) return true;
  const auto runs = [](ArgumentRole role) {
    return role == ArgumentRole::rest || role == ArgumentRole::program || role == ArgumentRole::script || role == ArgumentRole::set;
  };
  return std::ranges::any_of(row->operands, runs) || std::ranges::any_of(row->options, [&](const ProgramOption& option) {
           return option.tail || (option.runs && !option.outside && option.words > 0) || runs(option.role);
         });
}

bool may_run_its_arguments(std::string_view program) {
  ShellPart part;
  part.words.push_back({std::string(program), std::string(program)});
  return runs_its_arguments(part) || is_one_of(looked_through, program) || is_listed(argument_runners, program);
}

/// Returns the common beginning of every text that the pattern matches, in any quoting: whole words with one blank
/// between them. Empty if not even the command is certain.
std::string certain_words(std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  std::string_view rest = pattern.substr(0, star);
  std::string certain;
  while (!rest.empty()) {
    const std::string_view word = first_word(rest);
    const bool whole = word.size() < rest.size() || star == std::string_view::npos;
    if (!whole || !is_plain(word)) break;
    certain += (certain.empty() ? "" : " ") + std::string(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return certain;
}

/// The beginning of a restriction's pattern, and what may follow.
struct Beginning {
  std::string text;
  bool word_ends = false;  // a blank or the end; otherwise anything
};

Beginning beginning_of(const std::string& pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string::npos) return {pattern, true};
  const bool trailing = star > 0 && star + 1 == pattern.size() && pattern[star - 1] == ' ';
  return {pattern.substr(0, trailing ? star - 1 : star), trailing};
}

/// Returns true if a text that begins with these whole words may match the restriction.
bool may_begin_so(const std::string& words, const Beginning& restriction) {
  const std::string told = words + " ";  // more may follow, through xargs even after an exact rule
  const std::string other = restriction.text + (restriction.word_ends ? " " : "");
  const std::size_t common = std::min(told.size(), other.size());
  return told.compare(0, common, other, 0, common) == 0;
}

/// Returns true for restrictions of wrappers. `timeout 5 npm test` and `CI=1 npm test` are covered by a rule for `npm
/// test`, and also by restrictions of `timeout`.
bool may_begin_with_wrapper(const Beginning& restriction) {
  const std::string_view word = first_word(restriction.text);
  if (word.empty() || word.find('=') != std::string_view::npos) return true;
  const bool whole = restriction.word_ends || word.size() < restriction.text.size();
  if (whole) return is_one_of(looked_through, base_name(word));
  const bool variable = word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
  return variable || std::ranges::any_of(looked_through, [&](std::string_view name) { return name.starts_with(word); });
}

bool commands_meet(std::string_view told, std::string_view restriction) {
  const std::string words = certain_words(normal_form(told));
  const std::string program(base_name(first_word(words)));
  if (program.empty() || first_word(words).find('=') != std::string_view::npos || may_run_its_arguments(program))
    return true;
  const std::string pattern = normal_form(restriction);
  Command exact = read_command(told);
  read_arguments(exact, {});
  if (told.find('*') == std::string_view::npos &&
      (!exact.line.doubt.empty() || restricts(pattern, exact) || might_restrict(pattern, exact) ||
       meets_handed(pattern, exact.handed)))
    return true;
  const std::string_view behind = std::string_view(words).substr(std::min(first_word(words).size() + 1, words.size()));
  if (told.find('*') != std::string_view::npos && may_hand_on(program, first_word(behind))) return true;
  Beginning other = beginning_of(pattern);
  if (may_begin_with_wrapper(other)) return true;
  const std::string bare = program + words.substr(first_word(words).size());
  if (may_begin_so(words, other) || may_begin_so(bare, other)) return true;
  const std::size_t program_end = std::min(other.text.find(' '), other.text.size());
  const std::size_t slash = other.text.rfind('/', program_end);
  if (slash == std::string::npos) return false;
  other.text.erase(0, slash + 1);  // /bin/rm is rm
  return may_begin_so(bare, other);
}

/// Returns true for an exact command without a file among its words, and with no use for a word that `xargs` appends:
/// `npm test`, `npm run build`, `git status`, `make`.
bool names_no_path(std::string_view command) {
  static constexpr std::string_view alone[] = {"make", "pwd", "date", "whoami", "id", "uname", "hostname", "true"};
  static constexpr std::string_view with_subcommands[] = {
      "git", "npm",    "yarn",   "pnpm", "cargo",  "go",  "pip", "poetry", "uv",    "bundle",
      "mvn", "gradle", "dotnet", "brew", "rustup", "tox", "apt", "rake",   "conda", "systemctl"};
  static constexpr std::string_view of_git[] = {"status", "branch", "fetch", "pull", "push"};
  if (command.find('*') != std::string_view::npos) return false;
  const Command exact = read_command(command);
  if (!exact.line.doubt.empty() || exact.line.parts.size() != 1) return false;
  const ShellPart& part = exact.line.parts.front();
  if (part.words.empty() || !part.assignments.empty() || !part.redirections.empty()) return false;
  const std::string& program = part.words.front().value;
  bool may_take_word = is_one_of(with_subcommands, program);
  if (!may_take_word && !is_one_of(alone, program)) return false;
  for (std::size_t i = 0; i < part.words.size(); ++i) {
    const std::string& word = part.words[i].value;
    if (part.words[i].expands || !is_plain(word) || word.find_first_of("/.=@") != std::string::npos) return false;
    if (i == 0) continue;
    if (i == 1 && program == "git" && !is_one_of(of_git, word)) return false;
    if (!word.starts_with("--") && (!may_take_word || word.starts_with("-"))) return false;
    may_take_word = word == "run";  // after an option, its value would follow
  }
  return true;
}

// --- domains ---

bool domains_meet(std::string_view one, std::string_view other) {
  const auto a = parse_host_pattern(one.substr(domain_prefix.size()));
  const auto b = parse_host_pattern(other.substr(domain_prefix.size()));
  if (!a || !b || a->any || b->any) return true;
  const auto is_below = [](const HostPattern& name, const HostPattern& of) {
    return of.subdomains && name.name.ends_with("." + of.name);
  };
  return (a->name == b->name && a->subdomains == b->subdomains) || is_below(*a, *b) || is_below(*b, *a);
}

// --- tools ---

/// Returns the patterns of a tool: `mcp__server` stands for all its tools.
std::vector<std::string> mcp_patterns(const std::string& tool) {
  std::vector<std::string> found{tool};
  if (tool.find("__", 5) == std::string::npos) found.push_back(tool + "__*");
  return found;
}

bool mcp_tools_meet(const std::string& one, const std::string& other) {
  for (const auto& a : mcp_patterns(one))
    for (const auto& b : mcp_patterns(other))
      if (wildcards_overlap(a, b)) return true;
  return false;
}

bool takes_path(const PermissionRule& rule) { return rule.tool == "Read" || rule.tool == "Edit"; }

/// Returns true if two rules of file tools overlap; a worker that may edit may also read.
bool files_meet(const PermissionRule& told, const PermissionRule& restriction, std::string_view home) {
  const std::string_view reach = path_rule_tool(tool_kind(told.tool));
  const std::string_view other = path_rule_tool(tool_kind(restriction.tool));
  if (reach.empty() || other.empty() || (reach == "Read" && other == "Edit")) return false;
  if (!told.specifier || !restriction.specifier || !takes_path(told) || !takes_path(restriction)) return true;
  return may_name_parameter(restriction) || paths_meet(*told.specifier, *restriction.specifier, home);
}

bool bash_meets(const PermissionRule& told, const PermissionRule& restriction) {
  if (takes_path(restriction)) return !told.specifier || !names_no_path(*told.specifier);
  if (restriction.tool != "Bash") return false;
  if (!told.specifier || !restriction.specifier || may_name_parameter(restriction)) return true;
  return commands_meet(*told.specifier, *restriction.specifier);
}

}  // namespace

bool may_overlap(const PermissionRule& told, const PermissionRule& restriction, std::string_view home) {
  const ToolKind other = tool_kind(restriction.tool);
  const bool any = !told.specifier || !restriction.specifier || may_name_parameter(restriction);
  switch (tool_kind(told.tool)) {
    case ToolKind::bash: return bash_meets(told, restriction);
    case ToolKind::read:
    case ToolKind::search:
    case ToolKind::edit: return files_meet(told, restriction, home);
    case ToolKind::fetch:
      return other == ToolKind::fetch && (any || domains_meet(*told.specifier, *restriction.specifier));
    case ToolKind::agent:
      return other == ToolKind::agent && (any || wildcards_overlap(*told.specifier, *restriction.specifier));
    case ToolKind::mcp: return other == ToolKind::mcp && mcp_tools_meet(told.tool, restriction.tool);
    case ToolKind::harmless:
    case ToolKind::interactive: return told.tool == restriction.tool;
    case ToolKind::powershell:
    case ToolKind::skill:
    case ToolKind::unknown: return other != ToolKind::mcp;  // its effects are unknown
  }
  return true;
}

std::optional<std::string> restriction_of(const PermissionRule& told, const PermissionRules& rules,
                                          std::string_view home) {
  for (const auto& [list, name] : {std::pair{&rules.deny, "deny"}, std::pair{&rules.ask, "ask"}}) {
    for (const PermissionRule& rule : *list)
      if (may_overlap(told, rule, home)) return "the " + std::string(name) + " rule " + rule.text;
  }
  return std::nullopt;
}

}  // namespace inbox_poller::config

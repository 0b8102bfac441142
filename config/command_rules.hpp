// Bash rules: patterns against the parts of a split command line. Grants must be sure of the command: they see a part
// as written, and no `*` covers an assignment, a wrapper, or a program that runs others. Restrictions are as cautious
// the other way: they compare every known spelling, without quotes and wrappers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/arguments.hpp"
#include "config/command_words.hpp"
#include "config/handed_commands.hpp"
#include "config/rules.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// One command line, prepared once for all rules.
struct Command {
  ShellLine line;
  std::vector<ShellPart> visible;  // the line's parts, and those in arguments of `sh -c`, `eval`, `sudo sh -c` …
  std::vector<std::string> spellings;  // every text that a restriction is compared with
  bool changes_directory = false;      // then a later relative path has no known meaning
  std::vector<Arguments> arguments;    // of each visible part
  HandedCommands handed;               // commands that a program may run from its arguments
};

Command read_command(std::string_view text);

/// Returns the index of the command or, if the part runs its arguments, of every word that could be one.
std::vector<std::size_t> possible_commands(const ShellPart& part);

/// Returns the pattern with ":*" at the end as " *".
std::string normal_form(std::string_view pattern);

/// Matches a pattern with one text: `*` anywhere, a trailing ` *` or `:*` at a word boundary ("ls *" also matches
/// "ls").
bool command_pattern_matches(std::string_view pattern, std::string_view text);

/// Returns true if a part only changes to the worker's directory or a directory below it.
bool stays_inside(const ShellPart& part, const RuleContext&);

/// Fills `arguments` and `handed`.
void read_arguments(Command&, const RuleContext&);

/// Returns true if the pattern covers the part. `surprises`: pieces of the part's text that the pattern must spell out.
bool grants(std::string_view pattern, const ShellPart& part, const Arguments&, const std::vector<Surprise>& surprises);
bool restricts(std::string_view pattern, const Command&);

/// Returns true if an expansion of a variable, a glob or a brace could make a part match this restriction.
bool might_restrict(std::string_view pattern, const Command&);

/// Returns why no rule may allow this line: it removes something like `/`, the home or the working directory itself.
std::optional<std::string> removes_critical_path(const Command&, const RuleContext&);

}  // namespace inbox_poller::config

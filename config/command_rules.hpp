// What a Bash rule covers: patterns against the parts of a split command line. Two questions with opposite cautions:
// *grants* must be sure of what runs, so they see a part as written and never let a `*` cover an assignment, a wrapper
// or a program that runs other programs; *restrictions* look at every spelling we can think of, quotes removed,
// wrappers looked through.
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
  std::vector<ShellPart> visible;  // the line's parts, and those in texts handed to `sh -c`, `eval`, `sudo sh -c` …
  std::vector<std::string> spellings;  // every text a restriction is compared with
  bool changes_directory = false;      // then a relative path behind it means nothing to us
  std::vector<Arguments> arguments;    // of each visible part
  HandedCommands handed;               // what a program may run from its arguments
};

Command read_command(std::string_view text);

/// Returns the index of the command, or, where the part runs its arguments, of every word that could be one.
std::vector<std::size_t> possible_commands(const ShellPart& part);

/// ":*" at the end is another way to write " *".
std::string normal_form(std::string_view pattern);

/// Pattern against one text: `*` anywhere, a trailing ` *` or `:*` at a word boundary ("ls *" also matches plain "ls").
bool command_pattern_matches(std::string_view pattern, std::string_view text);

/// Tells whether a part does nothing but go to a folder that is the worker's own or below it.
bool stays_inside(const ShellPart& part, const RuleContext&);

/// Fills `arguments` and `handed`.
void read_arguments(Command&, const RuleContext&);

/// `surprises` are pieces of the part's text that the pattern must spell out.
bool grants(std::string_view pattern, const ShellPart& part, const Arguments&, const std::vector<Surprise>& surprises);
bool restricts(std::string_view pattern, const Command&);

/// Could what the shell puts in for a variable, a glob or a brace make a part meet this restriction?
bool might_restrict(std::string_view pattern, const Command&);

/// Why no rule may allow this line: it removes something like `/`, the home folder or the working directory itself.
std::optional<std::string> removes_critical_path(const Command&, const RuleContext&);

}  // namespace inbox_poller::config

// Commands that a program may run from its arguments: `gtimeout 5 git push`, `git bisect run git push`, `rtk 'rm x'`. A
// list of all such programs is impossible, so arguments without another known meaning are read. Each word may begin a
// command, and each text of several words is a line. For deny and ask rules only, and only to ask.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/arguments.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// Returns programs, or subcommands, whose arguments are names and texts: "brew", "aws s3". Not those in the table of
/// programs, whose rows describe their arguments. Source: docs/reference/rules.md shows the list.
std::vector<std::string_view> programs_with_plain_arguments();

/// Returns true if this program, with this first argument, is in that list.
bool takes_plain_arguments(std::string_view program, std::string_view first_argument);

/// Returns the options whose value is a text for people in every program: "--message".
std::vector<std::string_view> options_with_plain_text();

/// Words, each of which may begin a command.
using HandedWords = std::vector<ShellWord>;

/// One place where a command may begin.
struct HandedStart {
  std::size_t list = 0;  // in HandedCommands::lists
  std::size_t word = 0;
  std::string text;  // the first word, or the part of it that may be the command
};

/// The commands that one line's programs may run from their arguments, prepared once for all rules.
struct HandedCommands {
  std::vector<HandedWords> lists;
  std::vector<HandedStart> starts;
  bool too_many = false;  // more than the limit
};

/// Returns the words of these arguments, and those of each text among them that is a line.
HandedCommands handed_commands(const std::vector<Arguments>& arguments);

/// Returns true if a rule's pattern matches one of the commands.
bool meets_handed(std::string_view pattern, const HandedCommands& handed);

}  // namespace inbox_poller::config

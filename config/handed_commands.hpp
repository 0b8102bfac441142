// Commands that a program may run from its arguments: `gtimeout 5 git push`, `git bisect run git push`, `rtk 'rm x'`.
// Nobody can list all such programs. Whatever is not known to take its arguments for something else is read: each word
// as the beginning of a command, and each text of several words as a line of its own. For deny and ask rules only, and
// only to ask.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/arguments.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// One program, or one of its subcommands, whose arguments are names and texts: "brew", "aws s3".
/// Beside the table of programs, which says what the arguments of its own are. docs/reference/rules.md shows the list.
std::vector<std::string_view> programs_with_plain_arguments();

/// Tells whether the arguments of this program, with this first one, are on that list.
bool takes_plain_arguments(std::string_view program, std::string_view first_argument);

/// Options whose value is a text for people in whatever program: "--message".
std::vector<std::string_view> options_with_plain_text();

/// Words of which every one may begin a command.
using HandedWords = std::vector<ShellWord>;

/// One place where a command may begin.
struct HandedStart {
  std::size_t list = 0;  // in HandedCommands::lists
  std::size_t word = 0;
  std::string text;  // of the first word: it, or what of it may be the command
};

/// What the programs of one line may run from their arguments, prepared once for all rules.
struct HandedCommands {
  std::vector<HandedWords> lists;
  std::vector<HandedStart> starts;
  bool too_many = false;  // more than is read
};

/// Returns the handed words of these arguments, and those of each text among them that is a line of its own.
HandedCommands handed_commands(const std::vector<Arguments>& arguments);

/// Tells whether a rule's pattern meets one of them.
bool meets_handed(std::string_view pattern, const HandedCommands& handed);

}  // namespace inbox_poller::config

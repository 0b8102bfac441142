// Commands that a program may run from its arguments: `gtimeout 5 git push`, `git bisect run git push`, `rtk 'rm x'`.
// Nobody can list all such programs. Whatever is not known to take its arguments for something else is read: each word
// as the beginning of a command, and each text of several words as a line of its own. For deny and ask rules only, and
// only to ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/arguments.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// One program, or one of its subcommands, whose arguments are names and texts: "brew", "aws s3".
/// Beside the table of programs, which says what the arguments of its own are. docs/rules.md shows the list.
std::vector<std::string_view> programs_with_plain_arguments();

/// Tells whether the arguments of this program, with this first one, are on that list.
bool takes_plain_arguments(std::string_view program, std::string_view first_argument);

/// Options whose value is a text for people in whatever program: "--message".
std::vector<std::string_view> options_with_plain_text();

/// Words of which every one may begin a command.
using HandedWords = std::vector<ShellWord>;

/// Returns what may be run from the arguments of the parts: their handed words, and those of each text among them that
/// is a line of its own. Sets `too_many` where there is more than would be read.
std::vector<HandedWords> handed_commands(const std::vector<Arguments>& arguments, bool& too_many);

/// Tells whether a rule's pattern meets one of them.
bool meets_handed(std::string_view pattern, const std::vector<HandedWords>& handed);

}  // namespace inbox_poller::config

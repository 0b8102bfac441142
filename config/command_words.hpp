// The words of one simple command: which one is the program after plain wrappers, and what the words may become. Not
// for rules or the table of programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// Returns the index of the command after plain wrappers (`timeout 30`, `nice`, `xargs -0`).
std::size_t core_word(const ShellPart& part);

/// Returns true if `xargs` precedes the word `core`, so that more words follow the last one.
bool under_xargs(const ShellPart& part, std::size_t core);

/// Returns true if such an `xargs` replaces `{}` by its input instead of appending the input.
bool xargs_replaces(const ShellPart& part, std::size_t core);

/// Returns what the words from `from` on may become; under xargs, with any appended words.
std::string possible_text(const ShellPart& part, std::size_t from);

/// Returns the words from `from` on without quotes, joined by one blank; cut if too long to be run.
std::string joined_values(const ShellPart& part, std::size_t from);

/// Returns true if a word sets a harmless variable (`CI`, `LC_*`) before a command.
bool is_safe_assignment(const ShellWord& word);

/// Returns true if the program runs its arguments (sudo, env, xargs -a, sh -c, find -exec, export …), so that only a
/// rule without `*` grants it.
bool runs_its_arguments(const ShellPart& part);

/// Returns true for a shell that takes its commands from its input: `… | sh`, `bash -s < x`.
bool told_by_input(const ShellPart& part);

/// Returns true if a word is a shell that runs the script named by its first argument.
bool is_shell(std::string_view name);

/// Returns true if a builtin takes a variable's name and evaluates its brackets: `printf -v 'a[$(x)]' y`.
bool takes_names(std::string_view name);

}  // namespace inbox_poller::config

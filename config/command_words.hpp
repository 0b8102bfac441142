// The words of one simple command: which one is the program when plain wrappers are looked through, and what the words
// may become. Knows no rule and no table of programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/shell_split.hpp"

namespace inbox_poller::config {

/// Finds the word that is the command when plain wrappers (`timeout 30`, `nice`, `xargs -0`) are looked through.
std::size_t core_word(const ShellPart& part);

/// Tells whether `xargs` stands in front of the word `core`: more words follow the last one.
bool under_xargs(const ShellPart& part, std::size_t core);

/// Tells whether such an `xargs` puts what it reads into the places of `{}`, instead of behind the last word.
bool xargs_replaces(const ShellPart& part, std::size_t core);

/// Returns what the words from `from` on may become; under xargs, with whatever comes behind them as well.
std::string possible_text(const ShellPart& part, std::size_t from);

/// Returns the words from `from` on without their quotes, joined by one blank; cut where it is too long to be run.
std::string joined_values(const ShellPart& part, std::size_t from);

/// Tells whether a word is the value of a harmless variable (`CI`, `LC_*`) in front of a command.
bool is_safe_assignment(const ShellWord& word);

/// Tells that the program runs whatever its arguments say (sudo, env, xargs -a, sh -c, find -exec, export …), so that
/// only a rule without `*` grants it.
bool runs_its_arguments(const ShellPart& part);

/// Tells whether a word is one of the shells that run the script which their first argument names.
bool is_shell(std::string_view name);

/// Tells whether a builtin takes a variable's name and evaluates what stands in its brackets: `printf -v 'a[$(x)]' y`.
bool takes_names(std::string_view name);

}  // namespace inbox_poller::config

// Rules for PowerShell commands, without parsing PowerShell. A command of plain words is read like a shell command;
// every other command needs a rule that spells it out. Source: the client's public documentation, where these rules
// have the form of Bash rules, ignore case, and know a cmdlet by its aliases.
#pragma once

#include <string_view>

namespace inbox_poller::config {

/// Returns true for a command of letters, digits, blanks and `_ - . / = +` that starts no other command and is not an
/// alias of another one. Every shell reads it as the same words.
bool is_plain_powershell(std::string_view command);

/// Returns true if `command`, without outer blanks, is the text of a rule without `*`.
bool powershell_spells_out(std::string_view pattern, std::string_view command);

/// Returns true if the pattern matches one of the commands, as far as they are known without a parser: split at every
/// possible separator, without quotes, ignoring case, with aliases replaced.
bool powershell_restricts(std::string_view pattern, std::string_view command);

}  // namespace inbox_poller::config

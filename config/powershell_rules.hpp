// Rules for PowerShell commands. PowerShell is not parsed here: a command of plain words is read as a shell reads it,
// and every other one is granted only by a rule that spells it out. Source: the client's public documentation, where
// these rules have the form of Bash rules, without regard to case, and know a cmdlet by its aliases.
#pragma once

#include <string_view>

namespace inbox_poller::config {

/// One command of letters, digits, blanks and `_ - . / = +` that starts no other command and is no alias of something
/// else: every shell reads it as the same words.
bool is_plain_powershell(std::string_view command);

/// `command` without blanks around it is the text of a rule without `*`.
bool powershell_spells_out(std::string_view pattern, std::string_view command);

/// The pattern meets one of the commands, as far as they can be told apart without a parser: cut at every sign that may
/// separate two, without quotes, without regard to case, aliases as what they stand for.
bool powershell_restricts(std::string_view pattern, std::string_view command);

}  // namespace inbox_poller::config

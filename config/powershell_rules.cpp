#include "config/powershell_rules.hpp"

#include <algorithm>
#include <string>

#include "config/command_rules.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::string_view separators = ";|&\r\n(){}=,@";
constexpr std::string_view dropped = "'\"`^";

struct Cmdlet {
  std::string_view name;
  std::string_view aliases;
};

constexpr Cmdlet cmdlets[] = {
    {"remove-item", "rm del ri rmdir rd erase"},
    {"get-content", "cat gc type"},
    {"set-content", "sc"},
    {"clear-content", "clc"},
    {"copy-item", "cp copy cpi"},
    {"move-item", "mv move mi"},
    {"rename-item", "ren rni"},
    {"new-item", "ni"},
    {"get-childitem", "ls dir gci"},
    {"set-location", "cd chdir sl"},
    {"invoke-webrequest", "iwr curl wget"},
    {"invoke-restmethod", "irm"},
    {"invoke-expression", "iex"},
    {"invoke-command", "icm"},
    {"start-process", "saps start"},
    {"stop-process", "spps kill"},
    {"stop-service", "spsv"},
    {"set-item", "si"},
    {"set-itemproperty", "sp"},
    {"remove-itemproperty", "rp"},
    {"tee-object", "tee"},
    {"write-output", "echo write"},
    {"select-string", "sls"},
};

/// Commands that start another command from their words, or remove more than their words name.
constexpr std::string_view starters[] = {"powershell",   "pwsh",
                                         "cmd",          "bash",
                                         "sh",           "wsl",
                                         "start-job",    "invoke-command",
                                         "runas",        "sudo",
                                         "env",          "npx",
                                         "foreach",      "foreach-object",
                                         "iex",          "where-object",
                                         "icm",          "start",
                                         "remove-item",  "invoke-expression",
                                         "start-process"};

/// Aliases that do the same with their words as the program of that name in another shell.
constexpr std::string_view alike[] = {"get-childitem", "get-content", "write-output"};

/// Returns a command in lower case with single blanks, its program without directory and extension, and aliases
/// replaced.
std::string canonical(std::string_view command) {
  std::string text;
  for (const char c : to_lower(trimmed(command))) {
    const bool blank = any_blank.find(c) != std::string_view::npos;
    if (blank && text.ends_with(' ')) continue;
    text += blank ? ' ' : c;
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  std::string name = text.substr(0, end);
  name.erase(0, name.find_last_of("/\\") + 1);
  if (name.ends_with(".exe") || name.ends_with(".cmd")) name.resize(name.size() - 4);
  for (const Cmdlet& cmdlet : cmdlets)
    if ((" " + std::string(cmdlet.aliases) + " ").find(" " + name + " ") != std::string::npos) name = cmdlet.name;
  return name + text.substr(end);
}

}  // namespace

bool is_plain_powershell(std::string_view command) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" _-./=+").find(c) != std::string_view::npos;
  };
  command = trimmed(command);
  if (command.empty() || command.starts_with('.') || !std::ranges::all_of(command, plain)) return false;
  const std::string text = canonical(command);
  const std::string_view program = std::string_view(text).substr(0, text.find(' '));
  const bool is_alias = program != to_lower(base_name(command.substr(0, command.find(' '))));
  return !is_one_of(starters, program) && (!is_alias || is_one_of(alike, program));
}

bool powershell_spells_out(std::string_view pattern, std::string_view command) {
  return pattern.find('*') == std::string_view::npos && pattern == trimmed(command) &&
         !find_odd_character(command, LineBreaks::accepted);
}

bool powershell_restricts(std::string_view written, std::string_view command) {
  const std::string pattern = canonical(normal_form(written));
  std::string text(command);
  std::erase_if(text, [](char c) { return dropped.find(c) != std::string_view::npos; });
  const auto meets = [&](std::string_view part) {
    part = trimmed(part);
    if (part.starts_with(". ")) part = trimmed(part.substr(2));
    return !part.empty() && command_pattern_matches(pattern, canonical(part));
  };
  if (meets(text)) return true;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
    if (meets(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace inbox_poller::config

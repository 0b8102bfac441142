#include "config/command_words.hpp"

#include <algorithm>
#include <cctype>

#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::string_view wrappers[] = {"timeout", "time", "nice", "nohup", "command", "builtin", "noglob", "xargs"};

constexpr std::string_view runners[] = {
    "stdbuf",   "sudo",     "doas",        "su",       "runuser",  "pkexec",    "env",      "eval",    "source",
    ".",        "exec",     "parallel",    "watch",    "setsid",   "ionice",    "chrt",     "taskset", "flock",
    "nsenter",  "unshare",  "chroot",      "strace",   "ltrace",   "gdb",       "script",   "trap",    "coproc",
    "alias",    "unalias",  "export",      "declare",  "typeset",  "local",     "readonly", "hash",    "enable",
    "set",      "setopt",   "unsetopt",    "shopt",    "emulate",  "unset",     "let",      "fc",      "bind",
    "complete", "function", "systemd-run", "at",       "batch",    "crontab",   "tmux",     "screen",  "expect",
    "entr",     "busybox",  "toybox",      "zmodload", "autoload", "integer",   "float",    "dot",     "logout",
    "bg",       "fg",       "disown",      "read",     "mapfile",  "readarray", "getopts",  "vared"};

constexpr std::string_view shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash"};

constexpr std::string_view find_actions[] = {"-exec",   "-execdir", "-ok",      "-okdir", "-delete",
                                             "-fprint", "-fprint0", "-fprintf", "-fls"};

/// Builtins that take a variable's name and evaluate its brackets: `printf -v 'a[$(rm x)]' y`.
constexpr std::string_view name_takers[] = {"test", "[",      "printf", "print",    "wait",
                                            "exit", "return", "break",  "continue", "shift"};

constexpr std::string_view safe_variables[] = {
    "LANG",  "LANGUAGE", "TZ",   "NO_COLOR", "FORCE_COLOR",      "CLICOLOR",    "CI",               "RUST_BACKTRACE",
    "LINES", "COLUMNS",  "TERM", "RUST_LOG", "CARGO_TERM_COLOR", "CGO_ENABLED", "PYTHONUNBUFFERED", "NODE_ENV",
    "PYTHONDONTWRITEBYTECODE", "GIT_TERMINAL_PROMPT"};

constexpr std::string_view plain_signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.smhd";  // KILL, 9, 5s

/// Matches 30, 1.5m.
bool is_number(std::string_view text) {
  if (!text.empty() && std::string_view("smhd").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Returns the number of words of an xargs option that only controls how the input is split or how often the command
/// runs: `-0`, `-r`, `-0n 1`, `-P4`, `-I {}`. 0: another option, or one with different meanings in different xargs.
std::size_t xargs_option(std::string_view option, std::string_view next) {
  constexpr std::string_view digits = "0123456789";
  const auto number = [&](std::string_view text) {
    return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
  };
  if (option == "--null" || option == "--no-run-if-empty") return 1;
  for (const std::string_view counted : {"--max-args=", "--max-procs=", "--max-lines="}) {
    if (option.starts_with(counted)) return number(option.substr(counted.size())) ? 1 : 0;
  }
  if (option.size() < 2 || option[0] != '-') return 0;
  const std::size_t end = option.find_first_not_of("0rtx", 1);
  if (end == std::string_view::npos) return 1;
  const std::string_view value = option.substr(end + 1);
  if (option[end] == 'I') return value == "{}" ? 1 : value.empty() && next == "{}" ? 2 : 0;
  if (std::string_view("nPL").find(option[end]) == std::string_view::npos) return 0;
  return number(value) ? 1 : value.empty() && number(next) ? 2 : 0;
}

bool replaces(std::string_view option) {
  const std::size_t end = std::min(option.find_first_not_of("0rtx", 1), option.size());
  return option.starts_with('-') && option.substr(end, 1) == "I";
}

/// Returns the number of words of xargs with its options. The placeholders `{}` must be whole words after the command,
/// because the result of any other replacement is unknown.
std::size_t xargs_length(const std::vector<ShellWord>& words, std::size_t i) {
  const auto text = [&](std::size_t n) { return n < words.size() ? std::string_view(words[n].text) : ""; };
  const auto value = [&](std::size_t n) { return n < words.size() ? std::string_view(words[n].value) : ""; };
  std::size_t at = i + 1;
  bool places = false;
  while (const std::size_t length = text(at).starts_with('-') ? xargs_option(text(at), value(at + 1)) : 0) {
    places = places || replaces(text(at));
    at += length;
  }
  if (text(at).empty() || text(at).starts_with('-')) return 0;
  for (std::size_t n = at; places && n < words.size(); ++n) {
    const bool holds = words[n].value.find("{}") != std::string::npos;
    if (holds && (n == at || words[n].value != "{}")) return 0;
  }
  return at - i;
}

/// Returns the number of words of the wrapper at `i` with its arguments; 0 if its form is not plain.
std::size_t wrapper_length(const std::vector<ShellWord>& words, std::size_t i) {
  const auto at = [&](std::size_t n) { return i + n < words.size() ? std::string_view(words[i + n].text) : ""; };
  if (!is_one_of(wrappers, at(0))) return 0;
  if (at(0) == "xargs") return xargs_length(words, i);
  const bool has_level = at(0) == "nice" && at(1) == "-n";
  const bool has_more = at(0) == "timeout" && (at(1) == "-k" || at(1) == "-s") &&
                        at(2).find_first_not_of(plain_signs) == std::string_view::npos;
  // The index of its number; 0: it has none.
  const std::size_t number = at(0) == "timeout" ? (has_more ? 3 : 1) : has_level ? 2 : 0;
  if (number > 0 && !is_number(at(number))) return 0;
  const std::string_view command = at(number + 1);
  return command.empty() || command.starts_with("-") ? 0 : number + 1;
}

/// Returns a word as the shell may leave it: as written up to its first expansion, then anything.
std::string possible_word(const ShellWord& word) {
  if (!word.expands) return word.value;
  return word.value.substr(0, word.text == word.value ? word.value.find_first_of("$*?[{=~`") : 0) + "*";
}

}  // namespace

bool is_safe_assignment(const ShellWord& word) {
  const std::size_t end = word.text.find('=');
  const std::string_view name = std::string_view(word.text).substr(0, end);
  const std::string_view value = std::string_view(word.value).substr(std::min(end + 1, word.value.size()));
  const bool is_plain = value.find("..") == std::string_view::npos && std::ranges::all_of(value, [](unsigned char c) {
                          return std::isalnum(c) != 0 ||
                                 std::string_view("_.,+:@%=-").find(static_cast<char>(c)) != std::string_view::npos;
                        });
  const bool is_cat = (name == "PAGER" || name == "GIT_PAGER") && value == "cat";
  return !word.expands && is_plain && (is_cat || is_one_of(safe_variables, name) || name.starts_with("LC_"));
}

std::size_t core_word(const ShellPart& part) {
  std::size_t i = 0;
  if (part.words.size() > 1 && part.words[0].text == "command" &&
      (part.words[1].text == "-v" || part.words[1].text == "-V"))
    return 0;
  while (const std::size_t length = wrapper_length(part.words, i)) i += length;
  return i;
}

bool under_xargs(const ShellPart& part, std::size_t core) {
  return std::any_of(part.words.begin(), part.words.begin() + static_cast<std::ptrdiff_t>(core),
                     [](const ShellWord& word) { return word.value == "xargs"; });
}

bool xargs_replaces(const ShellPart& part, std::size_t core) {
  bool behind = false;
  for (std::size_t i = 0; i < core; ++i) {
    if (behind && replaces(part.words[i].value)) return true;
    behind = behind || part.words[i].value == "xargs";
  }
  return false;
}

std::string possible_text(const ShellPart& part, std::size_t from) {
  const bool handed = under_xargs(part, from);
  std::string text;
  for (std::size_t i = from; i < part.words.size() && text.size() < longest_command; ++i) {
    if (i > from) text += ' ';
    const bool place = handed && part.words[i].value == "{}";
    text += place                    ? "*"
            : i == from && from == 0 ? std::string(base_name(part.words[i].value))
                                     : possible_word(part.words[i]);
  }
  return text + (handed ? "*" : "");
}

std::string joined_values(const ShellPart& part, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < part.words.size() && text.size() < longest_command; ++i) {
    if (i > from) text += ' ';
    text += part.words[i].value;
  }
  return text;
}

bool is_shell(std::string_view name) { return is_one_of(shells, name); }

bool told_by_input(const ShellPart& part) {
  if (part.words.empty() || (!part.piped && part.redirections.empty())) return false;
  const std::size_t core = core_word(part);
  const auto rest = part.words.begin() + static_cast<std::ptrdiff_t>(core) + 1;
  const bool has_script = std::any_of(rest, part.words.end(), [](const ShellWord& word) {
    const std::string_view value = word.value;
    if (value.starts_with("--")) return false;  // `--norc`
    if (value.starts_with('-')) return value.find('c') != std::string_view::npos;
    return !value.starts_with('+') && value != "/dev/stdin" && value != "posix";
  });
  const bool is_told = std::any_of(rest, part.words.end(), [](const ShellWord& word) { return word.value == "-s"; });
  return is_shell(base_name(part.words[core].value)) && (is_told || !has_script);
}

bool takes_names(std::string_view name) { return is_one_of(name_takers, name); }

bool runs_its_arguments(const ShellPart& part) {
  if (part.words.empty()) return true;
  const std::size_t core = core_word(part);
  const std::string_view name = base_name(part.words[core].value);
  if (name == "command" && part.words.size() > 1 && (part.words[1].text == "-v" || part.words[1].text == "-V"))
    return false;
  const auto arguments = part.words.begin() + static_cast<std::ptrdiff_t>(core) + 1;
  if (is_one_of(runners, name) || is_one_of(wrappers, name) || is_shell_keyword(name)) return true;
  if (part.words[core].expands) return true;
  if (is_one_of(shells, name)) {  // a script as first argument is like any command; options or stdin are not
    return arguments == part.words.end() || arguments->expands || arguments->value.empty() ||
           arguments->value.starts_with("-") || arguments->value.starts_with("+");
  }
  const auto any_argument = [&](auto check) {
    return under_xargs(part, core) || std::any_of(arguments, part.words.end(), check);
  };
  if (name == "find") {
    return any_argument([](const ShellWord& word) { return word.expands || is_one_of(find_actions, word.value); });
  }
  return is_one_of(name_takers, name) &&
         any_argument([](const ShellWord& word) { return word.value.find_first_of("[$") != std::string::npos; });
}

}  // namespace inbox_poller::config

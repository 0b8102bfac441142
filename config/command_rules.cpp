#include "config/command_rules.hpp"

#include <algorithm>

#include "config/argument_paths.hpp"
#include "config/path_pattern.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::size_t most_visible_parts = 256;  // bounds the work on a hostile line; beyond it the line is in doubt
constexpr std::size_t most_suffixes = 64;

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

/// Builtins that take a variable's name, and evaluate what stands in its brackets: `printf -v 'a[$(rm x)]' y`.
constexpr std::string_view name_takers[] = {"test", "[", "printf", "print", "wait"};

constexpr std::string_view safe_variables[] = {
    "LANG", "LANGUAGE",       "TZ",    "NO_COLOR", "FORCE_COLOR",      "CLICOLOR",
    "CI",   "RUST_BACKTRACE", "LINES", "COLUMNS",  "PYTHONUNBUFFERED", "NODE_ENV"};

bool is_safe_assignment(const ShellWord& word) {
  const std::size_t end = word.text.find('=');
  const std::string_view name = std::string_view(word.text).substr(0, end);
  const bool names_file = word.value.find('/') != std::string::npos || word.value.find("..") != std::string::npos;
  return !word.expands && !names_file && (is_one_of(safe_variables, name) || name.starts_with("LC_"));
}

/// 30, 1.5m
bool is_number(std::string_view text) {
  if (!text.empty() && std::string_view("smhd").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// How many words the wrapper at `i` and its own arguments take; 0 when its form is not one of the plain ones.
std::size_t wrapper_length(const std::vector<ShellWord>& words, std::size_t i) {
  const auto at = [&](std::size_t n) { return i + n < words.size() ? std::string_view(words[i + n].text) : ""; };
  if (!is_one_of(wrappers, at(0))) return 0;
  const bool has_level = at(0) == "nice" && at(1) == "-n";
  const std::size_t number = at(0) == "timeout" ? 1 : has_level ? 2 : 0;  // where its number stands; 0: it has none
  if (number > 0 && !is_number(at(number))) return 0;
  const std::string_view command = at(number + 1);
  return command.empty() || command.starts_with("-") ? 0 : number + 1;
}

/// Index of the word that is the command when plain wrappers are looked through.
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

/// A word as the shell may leave it: up to its first expansion as written, then anything.
std::string possible_word(const ShellWord& word) {
  if (!word.expands) return word.value;
  return word.value.substr(0, word.text == word.value ? word.value.find_first_of("$*?[{=~`") : 0) + "*";
}

/// What the words from `from` on may become; behind xargs, whatever comes behind them as well.
std::string possible_text(const ShellPart& part, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < part.words.size() && text.size() < longest_command; ++i) {
    if (i > from) text += ' ';
    text += i == from && from == 0 ? std::string(base_name(part.words[i].value)) : possible_word(part.words[i]);
  }
  return text + (from > 0 && part.words[from - 1].value == "xargs" ? "*" : "");
}

std::string joined_values(const ShellPart& part, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < part.words.size() && text.size() < longest_command; ++i) {
    if (i > from) text += ' ';
    text += part.words[i].value;
  }
  return text;
}

/// `text` and, where its first word is a path, the same with the program's bare name.
void add_spelling(std::vector<std::string>& out, std::string text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view name = base_name(std::string_view(text).substr(0, end));
  if (name.size() < end) out.push_back(std::string(name) + text.substr(end));
  out.push_back(std::move(text));
}

/// `npx x`, `npm exec x`: another program stands among its arguments.
bool hands_on(const ShellPart& part, std::size_t core) {
  const Program* program = find_program(base_name(part.words[core].value));
  const auto is = [](const Program* one, ArgumentRole role) { return one != nullptr && one->operands.front() == role; };
  if (!is(program, ArgumentRole::verb)) return is(program, ArgumentRole::program);
  return std::any_of(part.words.begin() + static_cast<std::ptrdiff_t>(core), part.words.end(), [&](const auto& word) {
    return is(find_program(program->name, word.value), ArgumentRole::program);
  });
}

/// The command, or, where the part runs its arguments, every word that could be one.
std::vector<std::size_t> possible_commands(const ShellPart& part) {
  if (part.words.empty()) return {};
  const std::size_t core = core_word(part);
  std::vector<std::size_t> found{core};
  if (!runs_its_arguments(part) && !hands_on(part, core)) return found;
  for (std::size_t i = 0; i < part.words.size() && found.size() < most_suffixes; ++i) {
    if (i != core) found.push_back(i);
  }
  return found;
}

/// The part of a pattern before its first `*`, the blank of a trailing ` *` included.
std::string_view literal_prefix(std::string_view pattern) { return pattern.substr(0, pattern.find('*')); }

/// wildcard_match, where no `*` of the pattern stands for a byte that is marked in `spelled`.
bool spelled_match(std::string_view pattern, std::string_view text, const std::vector<bool>& spelled) {
  std::vector<bool> reached(text.size() + 1, false);
  reached[0] = true;
  for (const char sign : pattern) {
    std::vector<bool> next(text.size() + 1, false);
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (sign == '*') {
        next[i] = reached[i] || (i > 0 && next[i - 1] && !spelled[i - 1]);
      } else if (i < text.size() && reached[i] && text[i] == sign) {
        next[i + 1] = true;
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

/// Matches the part from its byte `from` on.
bool covers(std::string_view pattern, const ShellPart& part, std::size_t from, const std::vector<Surprise>& surprises) {
  const std::string_view text = std::string_view(part.text).substr(from);
  if (!command_pattern_matches(pattern, text)) return false;
  if (surprises.empty()) return true;
  std::vector<bool> spelled(text.size(), false);
  for (const Surprise& surprise : surprises) {
    if (surprise.at < from || surprise.length == std::string::npos) return false;
    for (std::size_t i = surprise.at; i < surprise.at + surprise.length; ++i) {
      if (i >= from && i - from < spelled.size()) spelled[i - from] = true;
    }
  }
  const std::string normal = normal_form(pattern);
  if (spelled_match(normal, text, spelled)) return true;
  return normal.ends_with(" *") && spelled_match(std::string_view(normal).substr(0, normal.size() - 2), text, spelled);
}

/// What an `echo` or `printf` hands on, where it is plain words; nothing where it cannot be told.
std::optional<std::vector<ShellWord>> plain_output(const ShellPart& part, const ShellWord& handed_to) {
  const std::string_view name = part.words.empty() ? "" : std::string_view(part.words.front().text);
  if (part.grouped || (name != "echo" && name != "printf") || !part.assignments.empty()) return std::nullopt;
  std::vector<ShellWord> found;
  for (std::size_t i = 1; i < part.words.size(); ++i) {
    std::string value = part.words[i].value;
    if (i == 1 && (value == "-n" || value == "%s\\n" || value == "%s " || value == "%s")) continue;
    if (value.ends_with("\\n")) value.resize(value.size() - 2);
    if (part.words[i].expands || value.find_first_of("\\%\"'$`*?[{") != std::string::npos) return std::nullopt;
    for (std::size_t at = 0; (at = value.find_first_not_of(" \t\n", at)) != std::string::npos;) {
      const std::size_t end = std::min(value.find_first_of(" \t\n", at), value.size());
      ShellWord word = handed_to;
      word.value = value.substr(at, end - at);
      found.push_back(std::move(word));
      at = end;
    }
  }
  return found;
}

/// Runs what the folder says that it works in, which is, or may be, another one than the worker's.
bool follows_folder(const ShellPart& part, const Folders& folders, const std::string& own) {
  return std::ranges::any_of(possible_commands(part), [&](std::size_t at) {
    const Program* program = find_program(base_name(part.words[at].value));
    if (program == nullptr) return false;
    if (!folders.stray(own, !program->nested)) return false;
    bool local = program->local || program->nested;
    for (std::size_t i = at + 1; i < part.words.size() && !local; ++i) {
      const Program* sub = find_program(program->name, part.words[i].value);
      local = sub != nullptr && sub->local;
    }
    return local;
  });
}

/// Is the target something that everything depends on, or may it be?
bool is_critical_target(const ShellWord& word, const RuleContext& context, bool moved) {
  const std::string_view path = word.value;
  const bool relative = !path.starts_with('/') && !path.starts_with('~');
  if ((relative && moved) || (word.expands && path.find_first_of("${") != std::string_view::npos)) return true;
  const std::string full = normalise_path(path, context);
  std::string_view folder = full;  // `x/*` empties x, which is as bad as removing it
  while (!folder.empty() && base_name(folder).find_first_not_of("*?.") == std::string_view::npos) {
    folder = folder.substr(0, folder.rfind('/'));
  }
  const auto is_or_holds = [&](std::string_view place) {
    return place == folder || (place.starts_with(folder) && place[folder.size()] == '/');
  };
  const auto depth = std::ranges::count(folder, '/');
  const bool a_home = depth == 2 && (folder.starts_with("/home/") || folder.starts_with("/Users/"));
  return depth < 2 || a_home || is_or_holds(context.cwd) || is_or_holds(context.home);
}

}  // namespace

bool runs_its_arguments(const ShellPart& part) {
  if (part.words.empty()) return true;
  const std::size_t core = core_word(part);
  const std::string_view name = base_name(part.words[core].value);
  if (name == "command" && part.words.size() > 1 && (part.words[1].text == "-v" || part.words[1].text == "-V"))
    return false;
  const auto arguments = part.words.begin() + static_cast<std::ptrdiff_t>(core) + 1;
  if (is_one_of(runners, name) || is_one_of(wrappers, name) || is_shell_keyword(name)) return true;
  if (part.words[core].expands) return true;
  if (is_one_of(shells, name)) {  // a script as first argument is a command like others; options or stdin are not
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

Command read_command(std::string_view text) {
  Command command;
  command.line = split_shell_line(text);
  command.visible = command.line.parts;
  for (std::size_t i = 0; i < command.visible.size() && i < most_visible_parts; ++i) {
    const ShellPart part = command.visible[i];  // a copy: the list grows below
    if (part.words.empty() || !runs_its_arguments(part)) continue;
    for (const std::size_t at : possible_commands(part)) {
      const std::string& word = part.words[at].value;
      if (word.find_first_of(" \t\n;|&") == std::string::npos) continue;
      ShellLine inner = split_shell_line(word);
      std::ranges::move(inner.parts, std::back_inserter(command.visible));
    }
  }
  if (command.visible.size() > most_visible_parts) {
    command.visible.resize(most_visible_parts);
    if (command.line.doubt.empty()) command.line.doubt = "has too many parts";
  }
  for (const ShellPart& part : command.visible) {
    if (part.text.size() <= longest_command) command.spellings.push_back(part.text);
    for (const std::size_t at : possible_commands(part)) {
      add_spelling(command.spellings, joined_values(part, at));
      const std::size_t sub = at == core_word(part) ? subcommand_word(part, at) : 0;
      if (sub > at + 1)
        command.spellings.push_back(std::string(base_name(part.words[at].value)) + " " + joined_values(part, sub));
      const std::string_view name = base_name(part.words[at].value);
      command.changes_directory |= name == "cd" || name == "pushd" || name == "popd" || name == "chdir";
    }
  }
  return command;
}

std::string normal_form(std::string_view pattern) {
  std::string text(pattern);
  if (text.ends_with(":*")) text.replace(text.size() - 2, 2, " *");
  return text;
}

bool command_pattern_matches(std::string_view pattern, std::string_view text) {
  std::string_view start = pattern;  // "git status:*", "git status *": this and nothing, or a blank and anything
  if (start.ends_with(":*") || start.ends_with(" *")) {
    start.remove_suffix(2);
    if (start.find('*') == std::string_view::npos)
      return text.starts_with(start) && (text.size() == start.size() || text[start.size()] == ' ');
  }
  return pattern.ends_with(":*") ? wildcard_match(normal_form(pattern), text) : wildcard_match(pattern, text);
}

void read_arguments(Command& command, const RuleContext& given) {
  const auto known = [](const std::string& folder) { return folder.empty() ? std::string(unknown_folder) : folder; };
  const RuleContext context{known(given.cwd), known(given.home)};
  Folders folders{{context.cwd}, {}, false};
  std::vector<std::size_t> moves;
  for (std::size_t i = 0; i < command.visible.size(); ++i) {
    const ShellPart& part = command.visible[i];
    if (part.words.empty()) {
      command.arguments.emplace_back();
      continue;
    }
    const std::size_t core = core_word(part);
    const std::string_view name = base_name(part.words[core].value);
    if (!part.chained) folders.here.clear();
    std::optional<std::vector<ShellWord>> input;
    if (under_xargs(part, core) && part.piped && i > 0 && i < command.line.parts.size() && part.redirections.empty())
      input = plain_output(command.visible[i - 1], part.words[core - 1]);
    const bool runs_them = runs_its_arguments(part);
    const bool every = runs_them && !is_one_of(name_takers, name) && name != "find";
    command.arguments.push_back(every ? read_every_argument(part, folders, context)
                                      : read_arguments(part, core, input ? &*input : nullptr, folders, context));
    command.arguments.back().core = core;
    command.arguments.back().runs_them = runs_them;
    const Program* program = find_program(name);
    const bool moves_on = program != nullptr && program->name == "cd";
    if (moves_on && (part.piped || core > 0)) folders.here.clear();
    if (moves_on) moves.push_back(i);
    if (!follows_folder(part, folders, context.cwd)) continue;
    for (const std::size_t move : moves) {
      const ShellPart& moving = command.visible[move];
      const bool unnamed = moving.words.size() == 1;  // no pattern with a `*` names where `cd` alone goes
      command.arguments[move].surprises.push_back({0, unnamed ? std::string::npos : moving.text.size(),
                                                   "\"" + moving.text + "\", which leads " + std::string(name) +
                                                       " into another folder, whose code or configuration is run",
                                                   std::nullopt});
    }
    moves.clear();
  }
}

bool grants(std::string_view pattern, const ShellPart& part, const Arguments& arguments,
            const std::vector<Surprise>& surprises) {
  if (part.words.empty()) return false;
  const bool exact = pattern.find('*') == std::string_view::npos;
  if (exact && pattern == part.text) return true;
  if (arguments.runs_them) return false;
  const ShellWord& core = part.words[arguments.core];
  const std::size_t literal = pattern.ends_with(":*") ? pattern.size() - 1 : literal_prefix(pattern).size();
  const bool spelled_out = core.at == 0 || literal >= core.at + core.text.size();
  if (spelled_out && covers(pattern, part, 0, surprises)) return true;
  const bool safe = std::ranges::all_of(part.assignments, is_safe_assignment);
  return safe && core.at > 0 && covers(pattern, part, core.at, surprises);
}

bool restricts(std::string_view pattern, const Command& command) {
  return std::ranges::any_of(command.spellings,
                             [&](const std::string& text) { return command_pattern_matches(pattern, text); });
}

bool might_restrict(std::string_view pattern, const Command& command) {
  const std::string normal = normal_form(pattern);
  const std::string_view first = std::string_view(normal).substr(0, normal.find(' '));
  return std::ranges::any_of(command.visible, [&](const ShellPart& part) {
    if (part.words.empty()) return false;
    const std::size_t core = core_word(part);
    const bool expands = std::ranges::any_of(part.words, [](const auto& word) { return word.expands; });
    if (!expands && !under_xargs(part, core)) return false;
    if (runs_its_arguments(part)) return true;
    if (!wildcard_match(first, base_name(part.words[core].value))) return false;
    const std::string text = possible_text(part, core);
    const std::string_view bare =
        std::string_view(normal).ends_with(" *") ? std::string_view(normal).substr(0, normal.size() - 2) : normal;
    if (wildcards_overlap(normal, text) || wildcards_overlap(bare, text)) return true;
    const std::size_t sub = subcommand_word(part, core);
    return sub > core + 1 &&
           wildcards_overlap(normal, std::string(base_name(part.words[core].value)) + " " + possible_text(part, sub));
  });
}

std::optional<std::string> removes_critical_path(const Command& command, const RuleContext& context) {
  for (const ShellPart& part : command.visible) {
    for (const std::size_t at : possible_commands(part)) {
      const std::string_view name = base_name(part.words[at].value);
      if (name != "rm" && name != "rmdir") continue;
      if (under_xargs(part, at)) return "removes what another command names";
      for (std::size_t i = at + 1; i < part.words.size(); ++i) {
        const ShellWord& word = part.words[i];
        const bool is_option = word.value.starts_with("-") && !word.expands;
        if (!is_option && is_critical_target(word, context, command.changes_directory)) {
          return "removes \"" + word.value + "\", which is or may be a folder that everything depends on";
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace inbox_poller::config

#include "config/command_rules.hpp"

#include <algorithm>

#include "config/argument_paths.hpp"
#include "config/command_words.hpp"
#include "config/handed_commands.hpp"
#include "config/path_pattern.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::size_t most_visible_parts = 256;  // limits the work on a hostile line; beyond, it is in doubt
constexpr std::size_t most_suffixes = 64;

/// Appends `text` and, if its first word is a path, the same with the program's bare name.
void add_spelling(std::vector<std::string>& out, std::string text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view name = base_name(std::string_view(text).substr(0, end));
  if (name.size() < end) out.push_back(std::string(name) + text.substr(end));
  out.push_back(std::move(text));
}

/// Returns true if another program is among the arguments: `npx x`, `npm exec x`.
bool hands_on(const ShellPart& part, std::size_t core) {
  const Program* program = find_program(base_name(part.words[core].value));
  const auto is = [](const Program* one, ArgumentRole role) { return one != nullptr && one->operands.front() == role; };
  if (!is(program, ArgumentRole::verb)) return is(program, ArgumentRole::program);
  return std::any_of(part.words.begin() + static_cast<std::ptrdiff_t>(core), part.words.end(), [&](const auto& word) {
    return is(find_program(program->name, word.value), ArgumentRole::program);
  });
}

/// Returns the pattern before its first `*`, including the blank of a trailing ` *`.
std::string_view literal_prefix(std::string_view pattern) { return pattern.substr(0, pattern.find('*')); }

/// Works like wildcard_match, but no `*` stands for a byte that is marked in `spelled`.
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

/// Matches the pattern with the part from its byte `from` on.
bool covers(std::string_view pattern, const ShellPart& part, std::size_t from, const std::vector<Surprise>& surprises) {
  const std::string_view text = std::string_view(part.text).substr(from);
  for (const std::string_view quiet : {"git --no-pager ", "git -P "}) {  // options for a terminal
    if (surprises.empty() && text.starts_with(quiet) &&
        command_pattern_matches(pattern, "git " + std::string(text.substr(quiet.size()))))
      return true;
  }
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

/// Returns true if the target is, or may be, something that everything depends on.
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
  if (full.find_first_of("*?[") != std::string::npos) {  // `../p*` may be the folder itself, or one that holds it
    for (const std::string* place : {&context.cwd, &context.home})
      for (std::size_t end = place->size(); end != std::string::npos && end > 0; end = place->rfind('/', end - 1))
        if (wildcards_overlap(full, place->substr(0, end))) return true;
  }
  const auto depth = std::ranges::count(folder, '/');
  const bool a_home = depth == 2 && (folder.starts_with("/home/") || folder.starts_with("/Users/"));
  return depth < 2 || a_home || is_or_holds(context.cwd) || is_or_holds(context.home);
}

}  // namespace

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

Command read_command(std::string_view text) {
  Command command;
  command.line = split_shell_line(text);
  command.visible = command.line.parts;
  for (std::size_t i = 0; i < command.visible.size() && i < most_visible_parts; ++i) {
    const ShellPart part = command.visible[i];  // a copy, because the list grows below
    if (part.words.empty() || !runs_its_arguments(part)) continue;
    if (i > 0 && part.piped && told_by_input(part)) {  // a text for a shell: `echo 'rm x' | sh`
      const std::vector<ShellWord> said = command.visible[i - 1].words;
      for (std::size_t at = 1; at < said.size(); ++at) {
        ShellLine inner = split_shell_line(said[at].value);
        std::ranges::move(inner.parts, std::back_inserter(command.visible));
      }
    }
    for (const std::size_t at : possible_commands(part)) {
      const std::string& word = part.words[at].value;
      if (word.find_first_of(" \t\n;|&") == std::string::npos) continue;
      ShellLine inner = split_shell_line(word);
      std::ranges::move(inner.parts, std::back_inserter(command.visible));
    }
  }
  command.visible.insert(command.visible.end(), command.line.silent.begin(), command.line.silent.end());
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
  std::string_view start = pattern;  // "git status:*", "git status *": this alone, or a blank and anything
  if (start.ends_with(":*") || start.ends_with(" *")) {
    start.remove_suffix(2);
    if (start.find('*') == std::string_view::npos)
      return text.starts_with(start) && (text.size() == start.size() || text[start.size()] == ' ');
  }
  return pattern.ends_with(":*") ? wildcard_match(normal_form(pattern), text) : wildcard_match(pattern, text);
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
    if (told_by_input(part)) return true;
    if (base_name(part.words[core].value) == "xargs")  // in a form whose command is not certain
      return std::ranges::any_of(part.words,
                                 [&](const auto& word) { return wildcard_match(first, base_name(word.value)); });
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

namespace {

/// Returns the first word after `at` that is, or may be, a critical target.
const ShellWord* critical_target(const std::vector<ShellWord>& words, std::size_t at, const RuleContext& context,
                                 bool moved) {
  static constexpr std::string_view tests[] = {"-name",  "-iname", "-path",  "-ipath", "-regex",
                                               "-newer", "-size",  "-mtime", "-mmin",  "-empty"};
  const bool finds = base_name(words[at].value) == "find";
  const bool picks = finds && std::ranges::any_of(words, [](const auto& word) { return is_one_of(tests, word.value); });
  static const ShellWord here{".", "."};
  if (finds && !picks && at + 1 < words.size() && words[at + 1].value.starts_with('-')) return &here;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (finds && std::string_view("-(!").find(words[i].value.substr(0, 1)) != std::string_view::npos) break;
    if (picks && !moved && !words[i].expands && normalise_path(words[i].value, context) == context.cwd) continue;
    const bool is_option = words[i].value.starts_with("-") && !words[i].expands;
    if (!is_option && is_critical_target(words[i], context, moved)) return &words[i];
  }
  return nullptr;
}

bool removes(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].value);
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(at);
  const auto is_delete = [](const ShellWord& word) { return word.value == "-delete"; };
  return name == "rm" || name == "rmdir" || (name == "find" && std::any_of(rest, words.end(), is_delete));
}

}  // namespace

std::optional<std::string> removes_critical_path(const Command& command, const RuleContext& context) {
  const ShellWord* target = nullptr;
  for (const ShellPart& part : command.visible) {
    for (const std::size_t at : possible_commands(part)) {
      if (!removes(part.words, at)) continue;
      if (under_xargs(part, at)) return "removes what another command names";
      if (target == nullptr) target = critical_target(part.words, at, context, command.changes_directory);
    }
  }
  for (const HandedWords& words : command.handed.lists) {
    for (std::size_t at = 0; at < words.size() && target == nullptr; ++at) {
      if (removes(words, at)) target = critical_target(words, at, context, command.changes_directory);
    }
  }
  if (target == nullptr) return std::nullopt;
  return "removes \"" + target->value + "\", which is or may be a folder that everything depends on";
}

}  // namespace inbox_poller::config

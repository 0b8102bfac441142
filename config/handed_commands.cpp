#include "config/handed_commands.hpp"

#include <algorithm>
#include <utility>

#include "config/command_rules.hpp"
#include "config/command_words.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

// Limits of the work on a hostile line; a line beyond them is asked about.
constexpr std::size_t most_lists = 256;
constexpr std::size_t most_tries = 256;

constexpr std::string_view plain_programs[] = {
    "apt", "apt-cache", "apt-get install", "apt-get update", "apt-get remove", "apt-get upgrade", "apk",
    "brew install", "brew upgrade", "brew info", "brew list", "brew search", "dnf", "dpkg -l", "dpkg -L", "dpkg -s",
    "dpkg -S", "dpkg -i", "pacman", "rpm -q", "rpm -qa", "rpm -i", "yum", "systemctl", "service", "jobs", "pkill",
    "killall", "lsof", "apropos", "whatis", "info", "command", "exit", "return", "break", "continue", "shift",
    "hostname", "getent", "groups", "dig", "host", "nslookup", "ping", "say", "notify-send", "logger", "wall",
    "aws s3", "gsutil", "flyctl deploy", "flyctl status", "flyctl logs", "heroku ps"};

constexpr std::string_view text_options[] = {"--message", "--title",  "--body", "--description",
                                             "--comment", "--notes",  "--note", "--subject",
                                             "--summary", "--reason", "--label"};

/// Returns true if a shell would read the text as more than one word.
bool is_line(std::string_view text) { return text.find_first_of(" \t\n;|&(") != std::string_view::npos; }

/// Returns the parts of a word that may be a command: the word, and the part after a `=`, after a short option's
/// letter, or after the `!` of git's aliases.
std::vector<std::string_view> readings(std::string_view word) {
  std::vector<std::string_view> found{word};
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) found.push_back(word.substr(equals + 1));
  if (word.size() > 2 && word[0] == '-' && word[1] != '-') found.push_back(word.substr(2));
  for (std::size_t i = 0, count = found.size(); i < count; ++i) {
    if (found[i].starts_with('!')) found.push_back(found[i].substr(1));
  }
  return found;
}

/// Returns true for the value of an option for people's texts: `--message=x`, `--message x`, and `-m x` of `commit` or
/// `tag`.
bool is_plain_text(const HandedWords& words, std::size_t i) {
  const std::string_view word = words[i].value;
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos && is_one_of(text_options, word.substr(0, equals))) return true;
  if (i == 0) return false;
  const std::string_view before = words[i - 1].value;
  if (is_one_of(text_options, before)) return true;
  return (before == "-m" || before == "-am") &&
         std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i),
                     [](const ShellWord& one) { return one.value == "commit" || one.value == "tag"; });
}

/// Returns true if the pattern matches the command. Words that only may become a command do not match, so that `mytool
/// "$X"` is not asked about for each rule.
bool meets_command(std::string_view pattern, std::string_view bare, const ShellPart& part) {
  const std::string text = joined_values(part, 0);
  const std::string name(base_name(part.words.front().value));
  const std::string short_text = name + text.substr(std::min(part.words.front().value.size(), text.size()));
  if (command_pattern_matches(pattern, text) || command_pattern_matches(pattern, short_text)) return true;
  const bool expands = std::ranges::any_of(part.words, [](const ShellWord& word) { return word.expands; });
  const auto may_become = [&](const std::string& possible) {
    return wildcards_overlap(pattern, possible) || wildcards_overlap(bare, possible);
  };
  if (expands && may_become(possible_text(part, 0))) return true;
  const std::size_t sub = subcommand_word(part, 0);
  if (sub < 2) return false;
  return command_pattern_matches(pattern, name + " " + joined_values(part, sub)) ||
         (expands && may_become(name + " " + possible_text(part, sub)));
}

}  // namespace

std::vector<std::string_view> programs_with_plain_arguments() {
  return {std::begin(plain_programs), std::end(plain_programs)};
}

std::vector<std::string_view> options_with_plain_text() { return {std::begin(text_options), std::end(text_options)}; }

bool takes_plain_arguments(std::string_view program, std::string_view first_argument) {
  return std::ranges::any_of(plain_programs, [&](std::string_view row) {
    const std::size_t blank = row.find(' ');
    if (blank == std::string_view::npos) return row == program;
    return row.substr(0, blank) == program && row.substr(blank + 1) == first_argument;
  });
}

HandedCommands handed_commands(const std::vector<Arguments>& arguments) {
  HandedCommands all;
  for (const Arguments& one : arguments) {
    for (const HandedWords& words : one.handed) all.lists.push_back(words);
  }
  for (std::size_t i = 0; i < all.lists.size() && i < most_lists; ++i) {
    const HandedWords words = all.lists[i];  // a copy, because the list grows below
    for (std::size_t at = 0; at < words.size() && all.lists.size() <= most_lists; ++at) {
      if (is_plain_text(words, at)) continue;
      for (const std::string_view reading : readings(words[at].value)) {
        if (reading.empty()) continue;
        all.starts.push_back({i, at, std::string(reading)});
        if (!is_line(reading) || reading.size() > longest_command) continue;
        for (ShellPart& part : split_shell_line(reading).parts) {
          const bool same = part.words.size() == 1 && part.words.front().value == reading;
          if (!part.words.empty() && !same) all.lists.push_back(std::move(part.words));
        }
      }
    }
  }
  all.too_many = all.lists.size() > most_lists;
  return all;
}

bool meets_handed(std::string_view pattern, const HandedCommands& handed) {
  if (handed.starts.empty()) return false;
  const std::string normal = normal_form(pattern);
  const std::string_view all = normal;
  const std::string_view first = all.substr(0, all.find(' '));
  const std::string_view bare = all.ends_with(" *") ? all.substr(0, all.size() - 2) : all;
  std::size_t tries = 0;
  for (const HandedStart& start : handed.starts) {
    if (!wildcard_match(first, base_name(start.text)) && !wildcard_match(first, start.text)) continue;
    if (++tries > most_tries) return true;
    const HandedWords& words = handed.lists[start.list];
    ShellPart part;
    part.words.assign(words.begin() + static_cast<std::ptrdiff_t>(start.word), words.end());
    part.words.front().value = start.text;
    if (meets_command(normal, bare, part)) return true;
  }
  return false;
}

}  // namespace inbox_poller::config

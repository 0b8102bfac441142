// Any command line against one allow rule: what is allowed must look harmless to a second, much simpler reader of shell
// lines.
#include <algorithm>
#include <optional>

#include "config/rules.hpp"
#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_permission_rules {

using namespace inbox_poller;

namespace {

/// The commands of a line with quotes resolved, as lists of words. `hidden` tells that something runs or writes beside
/// them.
struct Reading {
  std::vector<std::vector<std::string>> commands{{}};
  bool hidden = false;
};

/// Where a redirection to nowhere, or to what is open already, ends.
std::optional<std::size_t> harmless_redirection(std::string_view rest) {
  std::size_t at = std::min(rest.find_first_not_of('>'), rest.size());
  const bool open_already = at < rest.size() && rest[at] == '&';
  const bool overwrites = at < rest.size() && rest[at] == '|';
  at = std::min(rest.find_first_not_of(' ', at + (open_already || overwrites ? 1 : 0)), rest.size());
  std::string target;
  char quote = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '\\' && quote == 0 && at + 1 < rest.size()) {
      if (rest[++at] != '\n') target += rest[at];
      continue;
    }
    if (quote == 0 && std::string_view(" \t\n;|&()<>").find(c) != std::string_view::npos) break;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else
      target += c;
  }
  const bool is_number = target.find_first_not_of("0123456789") == std::string::npos;
  const bool harmless = target == "/dev/null" || (open_already && !target.empty() && (is_number || target == "-"));
  return harmless && quote == 0 ? std::optional(at) : std::nullopt;
}

/// Where `$(cat <<'X' … X)` ends, the one substitution that is a text: at the first line that is X, before a parenthesis.
std::optional<std::size_t> end_of_text(std::string_view rest) {
  const std::size_t line = rest.find('\n');
  if (!rest.starts_with("$(") || line == std::string_view::npos) return std::nullopt;
  std::string_view head = rest.substr(2, line - 2);
  const auto skip = [&](std::string_view signs) { head.remove_prefix(std::min(head.find_first_not_of(signs), head.size())); };
  skip(" \t");
  if (!head.starts_with("cat")) return std::nullopt;
  head.remove_prefix(3);
  skip(" \t");
  if (!head.starts_with("<<")) return std::nullopt;
  head.remove_prefix(2);
  const bool tabs = head.starts_with('-');
  skip("- \t");
  std::string word;
  for (const char c : head) {
    if (std::string_view("'\"\\ \t").find(c) == std::string_view::npos) word += c;
  }
  if (word.size() == head.size()) return std::nullopt;  // nothing was quoted
  for (std::size_t at = line + 1; at < rest.size();) {
    const std::size_t end = std::min(rest.find('\n', at), rest.size());
    std::string_view one = rest.substr(at, end - at);
    if (tabs) one.remove_prefix(std::min(one.find_first_not_of('\t'), one.size()));
    at = end + 1;
    if (one != word) continue;
    at = std::min(rest.find_first_not_of(" \t\n", end), rest.size());
    return at < rest.size() && rest[at] == ')' ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

Reading read_line(std::string_view line) {
  Reading reading;
  std::string word;
  bool in_word = false;
  const auto end_word = [&] {
    if (in_word) reading.commands.back().push_back(word);
    word.clear();
    in_word = false;
  };
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\'') {
      if (c == '\'')
        quote = 0;
      else
        word += c;
      continue;
    }
    if (quote == '"') {
      if (const auto end = end_of_text(line.substr(i))) {
        i += *end;
        continue;
      }
    }
    if (c == '`' || (c == '$' && line.substr(i + 1, 1) == "(")) reading.hidden = true;
    if (c == '\\' && i + 1 < line.size()) {
      if (line[++i] == '\n') continue;  // the line goes on
      word += line[i];
      in_word = true;
    } else if (quote == '"') {
      if (c == '"')
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (c == '#' && !in_word) {
      i = std::min(line.find('\n', i), line.size()) - 1;
    } else if (c == ';' || c == '|' || c == '\n' || c == '(' || c == ')' ||
               (c == '&' && (i == 0 || (line[i - 1] != '>' && line[i - 1] != '<')))) {
      end_word();
      reading.commands.emplace_back();
    } else {
      if (c == '<' || c == '>') {
        if (word.find_first_not_of("0123456789") == std::string::npos) in_word = false;  // the number of what is redirected
        end_word();
        const bool copies = line.substr(i, 2) == "<&";  // `2<&1` is `2>&1`
        const auto behind = c == '>' || copies ? harmless_redirection('>' + std::string(line.substr(i + 1))) : std::nullopt;
        reading.hidden = reading.hidden || !behind;
        i += behind.value_or(1) - 1;
        continue;
      }
      word += c;
      in_word = true;
    }
  }
  end_word();
  return reading;
}

/// `git status`, with nothing before it but assignments and wrappers with their numbers.
bool runs_git_status(const std::vector<std::string>& words) {
  static const std::vector<std::string> wrappers = {"timeout", "time",    "nice",   "-n",    "nohup",
                                                    "command", "builtin", "noglob", "xargs", "!",  "-0",
                                                    "-r",      "-t",      "-x",     "-I{}", "-I",    "{}", "--null"};
  const auto is_before = [](const std::string& word) {
    const bool of_xargs = word.starts_with("-") && word.find_first_not_of("0rtxnPL123456789", 1) == std::string::npos;
    return std::find(wrappers.begin(), wrappers.end(), word) != wrappers.end() || of_xargs || word.starts_with("--max-") ||
           word.find_first_not_of("0123456789.smhd") == std::string::npos || word.find('=') != std::string::npos;
  };
  const auto command = std::find_if_not(words.begin(), words.end(), is_before);
  const bool moves = words.size() == 2 && words[0] == "cd" && words[1].find("..") == std::string::npos;  // in its own folder
  return moves || (words.end() - command >= 2 && command[0] == "git" && command[1] == "status");
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  using namespace config;
  static const PermissionRules rules{
      {*parse_permission_rule("Bash(rm:*)")}, {}, {*parse_permission_rule("Bash(git status:*)")}};
  const std::string_view line = as_text(data, size);
  const std::string input = "{\"command\":" + schema::quote(line) + "}";
  const RuleContext context{"/work", "/home/user"};
  const Verdict verdict = judge_tool(rules, "Bash", input, context, Action::ask);
  if (verdict.action == Action::allow) {
    EXPECT(verdict.rule == "Bash(git status:*)");
    const Reading reading = read_line(line);
    EXPECT(!reading.hidden);
    for (const auto& words : reading.commands) EXPECT(words.empty() || runs_git_status(words));
  }
  // The rule offered for `--always` must itself be a rule, and cover this call.
  if (const auto text = rule_for_call("Bash", input, context)) {
    const auto rule = parse_permission_rule(*text);
    EXPECT(rule.ok());
    EXPECT(judge_tool({{}, {}, {*rule}}, "Bash", input, context, Action::ask).action == Action::allow);
  }
  static_cast<void>(parse_permission_rule(line));
  return 0;
}

const Target registered("permission_rules", try_one);

}  // namespace inbox_poller::fuzz::of_permission_rules

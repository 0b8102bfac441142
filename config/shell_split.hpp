// A splitter of a shell command line into simple commands, from the text alone. Not a shell parser: it knows quotes,
// backslashes, operators and redirections. Everything else (substitutions, here-documents, braces, control flow,
// computed names) sets `doubt`, and the caller must not allow such a line. It then still lists every visible command,
// also in substitutions, for deny rules. The one known substitution is `"$(cat <<'EOF' …)"`, a text
// (config/quoted_document.hpp). Invariant: with an empty `doubt`, bash and zsh run exactly `parts`, in this order,
// joined by any operators. Source: the shell grammar of POSIX (XCU 2), with the additions of bash 5.2 and zsh 5.9.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::config {

struct ShellWord {
  std::string text;      // as written
  std::string value;     // without quotes and backslashes; expansions as written
  bool expands = false;  // has a variable, a glob or a brace that the shell replaces
  std::size_t at = 0;    // offset of `text` in ShellPart::text
  bool splits = false;   // the shell may make several words of it, or none
  bool braces = false;   // has a brace that no quote covers: `{a,b}` is two words
};

struct Redirection {
  std::string target;
  bool writes = false;
};

/// One simple command: `A=1 git commit -m "x; y" > log`.
struct ShellPart {
  std::string text;  // as written, words joined by one blank, without redirections
  std::vector<ShellWord> assignments;
  std::vector<ShellWord> words;  // words.front() is the command; empty only on a line in doubt
  std::vector<Redirection> redirections;
  bool chained = false;  // runs only after success of the previous part, which is in no group of its own
  bool piped = false;    // reads the previous part's output
  bool grouped = false;  // in parentheses
};

struct ShellLine {
  std::vector<ShellPart> parts;
  std::vector<ShellPart> silent;  // the `cat` of a quoted here-document, which writes the argument's text
  std::string doubt;              // why the line cannot be judged part by part, as "it …"; empty: it can
};

inline constexpr std::size_t longest_command = 10'000;  // bytes; as in the agent client

ShellLine split_shell_line(std::string_view text);

/// Returns true for `if`, `{`, `!` and similar words, which are grammar, not commands, at the beginning.
bool is_shell_keyword(std::string_view word);

}  // namespace inbox_poller::config

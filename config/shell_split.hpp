// Splits a shell command line into the simple commands that it would run, as far as that can be told from the text
// alone. What it is not: a shell parser. It knows quotes, backslashes, operators and redirections, and it knows what it
// does not know: whatever needs more (substitutions, here-documents, braces, control flow, computed names) sets
// `doubt`, and the caller must not allow such a line. In doubt it still lists every command it can see, also inside
// substitutions, so that a deny rule finds it. One substitution it does know: `"$(cat <<'EOF' …)"`, a text
// (config/quoted_document.hpp). Invariant: with an empty `doubt`, bash and zsh run exactly `parts`, in
// this order, joined by whatever operators. Source: the shell grammar of POSIX (XCU 2), with the additions of bash 5.2
// and zsh 5.9.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::config {

struct ShellWord {
  std::string text;      // as written
  std::string value;     // quotes and backslashes removed; expansions stay as written
  bool expands = false;  // holds a variable, a glob or a brace that the shell replaces
  std::size_t at = 0;    // where `text` begins in ShellPart::text
  bool splits = false;   // the shell may make several words of it, or none
};

struct Redirection {
  std::string target;
  bool writes = false;
};

/// One simple command: `A=1 git commit -m "x; y" > log`.
struct ShellPart {
  std::string text;  // as written, words joined by one blank, redirections left out
  std::vector<ShellWord> assignments;
  std::vector<ShellWord> words;  // words.front() is the command; empty only on a line in doubt
  std::vector<Redirection> redirections;
  bool chained = false;  // runs only where the part in front of it, which stands in no group of its own, succeeded
  bool piped = false;    // reads what the part in front of it writes
  bool grouped = false;  // stands in parentheses
};

struct ShellLine {
  std::vector<ShellPart> parts;
  std::vector<ShellPart> silent;  // the `cat` of a quoted here-document, which writes what stands in the argument
  std::string doubt;              // why the line cannot be judged part by part, as "it …"; empty: it can
};

inline constexpr std::size_t longest_command = 10'000;  // bytes; as in the agent client

ShellLine split_shell_line(std::string_view text);

/// `if`, `{`, `!` and the like: words that are grammar, not commands, when they stand first.
bool is_shell_keyword(std::string_view word);

}  // namespace inbox_poller::config

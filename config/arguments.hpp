// What the arguments of a command do, told by the table of programs: the paths they read and write, for deny and ask
// rules, and what a
// `*` in an allow rule never covers, because it runs something, or writes where nobody expects it. Nothing is resolved
// or opened.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/programs.hpp"
#include "config/rules.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

enum class Below { nothing, named, everything };  // named: only where a rule's path leads through it

/// One path that a command's arguments may use. Absolute and normalised; may hold `*` and `?` where the shell or the
/// program fills something in.
struct PathUse {
  std::string path;
  std::string folded;  // in lower case
  bool reads = false;
  bool writes = false;
  bool may_write = false;   // of a program that is not listed
  bool sure = true;         // it is this path, and it is used
  bool fills_dots = false;  // its wildcards may stand for a leading dot and for slashes
  bool hidden = true;       // what is hidden below it is read, too
  Below below = Below::nothing;
};

/// A piece of the command's text that only a rule's own text covers, never its `*`.
struct Surprise {
  std::size_t at = 0;  // in ShellPart::text
  std::size_t length = 0;
  std::string why;                    // "…, which …"
  std::optional<std::string> writes;  // a file; an Edit rule for it is as good
};

struct Arguments {
  std::vector<PathUse> paths;
  std::vector<Surprise> surprises;
  std::vector<std::vector<ShellWord>> handed;  // lists of words, each of which may begin a command that is run
  std::vector<std::string> filters;            // not empty: what is read below a folder has names like these
  std::size_t core = 0;                        // the index of the program's name
  bool runs_them = false;                      // each of them could be what is run
  bool unseen_reads = false;                   // reads, or writes, what cannot be seen from the text
  bool unseen_writes = false;
};

/// Where the commands of a line may be working; grows with every `cd`.
struct Folders {
  std::vector<std::string> known;
  std::vector<std::string> here;  // not empty: behind `cd x &&`, where it can be nowhere else
  bool lost = false;              // somewhere else, too
  /// Perhaps in another folder than `own` and those below it.
  [[nodiscard]] bool stray(const std::string& own) const;
  [[nodiscard]] const std::vector<std::string>& working() const { return here.empty() ? known : here; }
};

/// `input` is what comes out of the command in front, as words, where that can be seen; null where it cannot.
/// `core` is the index of the program's name among the words.
Arguments read_arguments(const ShellPart& part, std::size_t core, const std::vector<ShellWord>* input, Folders& folders,
                         const RuleContext& context);

/// Of a command whose words could each be a command or a path (sudo, env, find -exec): every one of them is looked at.
Arguments read_every_argument(const ShellPart& part, const Folders& folders, const RuleContext& context);

/// The index of the subcommand behind the program's own options: of "push" in `git --no-pager push`; 0: none, or no
/// options.
std::size_t subcommand_word(const ShellPart& part, std::size_t core);

}  // namespace inbox_poller::config

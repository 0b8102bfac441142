// The effects of a command's arguments, by the table of programs: the paths they read and write, for deny and ask
// rules. Also the pieces that a `*` in an allow rule never covers, because they run something or write unexpectedly.
// Nothing is resolved or opened.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/programs.hpp"
#include "config/rules.hpp"
#include "config/shell_split.hpp"

namespace inbox_poller::config {

enum class Below { nothing, named, everything };  // named: only if a rule's path leads through it

/// One path that a command's arguments may use. Absolute and normalized; may contain `*` and `?` where the shell or the
/// program fills something in.
struct PathUse {
  std::string path;
  std::string folded;  // in lower case
  bool reads = false;
  bool writes = false;
  bool may_write = false;   // of an unlisted program
  bool sure = true;         // certainly this path, and certainly used
  bool fills_dots = false;  // its wildcards may stand for a leading dot and for slashes
  bool hidden = true;       // hidden files below it are read, too
  Below below = Below::nothing;
};

/// A piece of the command's text that a rule's `*` never covers, only its literal text.
struct Surprise {
  std::size_t at = 0;  // in ShellPart::text
  std::size_t length = 0;
  std::string why;                    // "…, which …"
  std::optional<std::string> writes;  // a file; an Edit rule for it counts instead
};

struct Arguments {
  std::vector<PathUse> paths;
  std::vector<Surprise> surprises;
  std::vector<std::vector<ShellWord>> handed;  // lists of words, each of which may begin a command that is run
  std::vector<std::string> filters;            // not empty: only files with names like these are read below a directory
  std::size_t core = 0;                        // index of the program's name
  bool runs_them = false;                      // each of them could be the command
  bool unseen_reads = false;                   // reads, or writes, files that the text does not show
  bool unseen_writes = false;
};

/// The directories in which the commands of a line may work; grows with every `cd`.
struct Folders {
  std::vector<std::string> known;
  std::vector<std::string> here;  // not empty: after `cd x &&`, where no other is possible
  bool lost = false;              // also in unknown directories
  /// Returns true if the directory may be outside of `own` and its subdirectories.
  [[nodiscard]] bool stray(const std::string& own) const;
  [[nodiscard]] const std::vector<std::string>& working() const { return here.empty() ? known : here; }
};

/// Returns the effects of one command. `input`: the output of the previous command as words; null if unknown. `core`:
/// the index of the program's name among the words.
Arguments read_arguments(const ShellPart& part, std::size_t core, const std::vector<ShellWord>* input, Folders& folders,
                         const RuleContext& context);

/// Returns the effects of a command whose words could each be a command or a path (sudo, env, find -exec); checks all.
Arguments read_every_argument(const ShellPart& part, const Folders& folders, const RuleContext& context);

/// Returns the index of the subcommand after the program's own options: of "push" in `git --no-pager push`. 0: no
/// subcommand, or no options.
std::size_t subcommand_word(const ShellPart& part, std::size_t core);

}  // namespace inbox_poller::config

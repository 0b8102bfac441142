// Path rules: gitignore patterns against the paths of file tools and redirections. Lexical only: symbolic links are not
// resolved (this room touches no file, and between our answer and the worker's use a link can change anyway);
// docs/reference/rules.md says so. Invariant: a grant needs the whole path to match; a restriction also meets
// everything below a folder that matches, and compares without regard to case, since the file system may do so too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// The absolute path without `.`, `..`, doubled and trailing slashes; "~/" replaced. Empty when it cannot be told
/// (relative and `cwd` unknown, "~/" and `home` unknown, "~user").
std::string normalise_path(std::string_view path, const RuleContext&);

/// Why a path cannot be granted whatever it normalises to: `..` (which means something else behind a symbolic link),
/// invisible characters, an unknown starting point. Empty: it can.
std::optional<std::string> path_doubt(std::string_view path, const RuleContext&);

/// The names in it; they lie in `path`.
std::vector<std::string_view> segments_of(std::string_view path);

/// What a pattern says from its starting point on: "src/**" of "./src/**", "**/notes.txt" of "notes.txt".
std::string below_start(std::string_view pattern, Side);

/// `path` and the context are normalised. Forms: `//absolute`, `~/home`, `/anchored at cwd`, `./anchored at cwd`,
/// `name` at any depth below cwd, `a/b` anchored at cwd; `*` and `?` within a segment, `**` for any number of segments.
/// Where cwd is not known, such a pattern grants nothing and restricts from any folder on.
bool path_matches(std::string_view pattern, std::string_view path, const RuleContext&, Side);

/// What a rule for paths may be about where all is not told: a path with wildcards, a folder and what is in it.
struct PathReach {
  bool matches = false;  // it is, or could be, this path or one above it
  bool holds = false;    // what the rule is about may be below
  bool leads = false;    // the same, and the path is on the rule's way step by step, not only somewhere in a `**`
};

/// A rule's pattern, prepared once for many paths; as path_matches reads it on the restricting side. Where its starting
/// point is not known, it could be any folder.
class PathRule {
 public:
  PathRule(std::string_view pattern, const RuleContext&);
  /// `folded` is a normalised path in lower case. With `fills_dots` its wildcards may stand for a leading dot.
  [[nodiscard]] PathReach reach(std::string_view folded, bool fills_dots) const;
  [[nodiscard]] bool only_wildcards() const { return only_wildcards_; }
  [[nodiscard]] bool about_hidden() const { return hidden_; }
  [[nodiscard]] std::string_view last_name() const;

 private:
  std::string text_;         // the starting point and the pattern, in lower case
  std::size_t base_ = 0;     // so long is the starting point, which is compared literally
  std::size_t literal_ = 0;  // so long is what holds no wildcard
  bool only_wildcards_ = false;
  bool hidden_ = false;  // it names something with a leading dot
};

/// Could a name that the shell, or a program, makes of `of_path` be one that `of_rule` stands for? With `fills_dots`
/// its wildcards may stand for a leading dot.
bool names_overlap(std::string_view of_rule, std::string_view of_path, bool fills_dots);

}  // namespace inbox_poller::config

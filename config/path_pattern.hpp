// Path rules: gitignore patterns against the paths of file tools and redirections. Lexical only: symbolic links are not
// resolved, because a link can change between the answer and its use; see docs/reference/rules.md. Invariant: a grant
// needs the whole path to match; a restriction also covers everything below a matching directory, and ignores case, as
// the file system may.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns the absolute path without `.`, `..`, doubled and trailing slashes, and with "~/" replaced. Empty if unknown
/// (relative without `cwd`, "~/" without `home`, "~user").
std::string normalise_path(std::string_view path, const RuleContext&);

/// Returns why a path cannot be granted: `..` (different after a symbolic link), invisible characters, an unknown
/// starting point. Empty: it can.
std::optional<std::string> path_doubt(std::string_view path, const RuleContext&);

/// Returns the names in the path, as views of it.
std::vector<std::string_view> segments_of(std::string_view path);

/// Returns the pattern from its starting point on: "src/**" of "./src/**", "**/notes.txt" of "notes.txt".
std::string below_start(std::string_view pattern, Side);

/// Returns true if the pattern matches the normalized path. Forms: `//absolute`, `~/home`, `/anchored at cwd`,
/// `./anchored at cwd`, `name` at any depth below cwd, `a/b` anchored at cwd; `*` and `?` within a segment, `**` for
/// any number of segments. If cwd is unknown, such a pattern grants nothing and restricts below any directory.
bool path_matches(std::string_view pattern, std::string_view path, const RuleContext&, Side);

/// The relation of a rule to a path that is only partly known: with wildcards, or a directory and its contents.
struct PathReach {
  bool matches = false;  // the rule matches, or may match, this path or one above it
  bool holds = false;    // a path of the rule may be below
  bool leads = false;    // the same, and the path follows the rule's segments one by one, not only inside a `**`
};

/// A rule's pattern, prepared once for many paths, as path_matches reads it on the restricting side. An unknown
/// starting point may be any directory.
class PathRule {
 public:
  PathRule(std::string_view pattern, const RuleContext&);
  /// Returns the relation to a normalized path in lower case. `fills_dots`: its wildcards may stand for a leading dot.
  [[nodiscard]] PathReach reach(std::string_view folded, bool fills_dots) const;
  [[nodiscard]] bool only_wildcards() const { return only_wildcards_; }
  [[nodiscard]] bool about_hidden() const { return hidden_; }
  [[nodiscard]] std::string_view last_name() const;

 private:
  std::string text_;         // the starting point and the pattern, in lower case
  std::size_t base_ = 0;     // length of the starting point, which is compared literally
  std::size_t literal_ = 0;  // length of the part without wildcards
  bool only_wildcards_ = false;
  bool hidden_ = false;  // names something with a leading dot
};

/// Returns true if a name that the shell or a program makes of `of_path` may match `of_rule`. `fills_dots`: its
/// wildcards may stand for a leading dot.
bool names_overlap(std::string_view of_rule, std::string_view of_path, bool fills_dots);

}  // namespace inbox_poller::config

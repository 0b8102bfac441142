// Path rules: gitignore patterns against the paths of file tools and redirections. Lexical only: symbolic links are not
// resolved (this room touches no file, and between our answer and the worker's use a link can change anyway);
// docs/rules.md says so. Invariant: a grant needs the whole path to match; a restriction also meets everything below a
// folder that matches, and compares without regard to case, since the file system may do so too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// The absolute path without `.`, `..`, doubled and trailing slashes; "~/" replaced. Empty when it cannot be told
/// (relative and `cwd` unknown, "~/" and `home` unknown, "~user").
std::string normalise_path(std::string_view path, const RuleContext&);

/// Why a path cannot be granted whatever it normalises to: `..` (which means something else behind a symbolic link),
/// invisible characters, an unknown starting point. Empty: it can.
std::optional<std::string> path_doubt(std::string_view path, const RuleContext&);

/// What a pattern says from its starting point on: "src/**" of "./src/**", "**/notes.txt" of "notes.txt".
std::string below_start(std::string_view pattern, Side);

/// `path` and the context are normalised. Forms: `//absolute`, `~/home`, `/anchored at cwd`, `./anchored at cwd`,
/// `name` at any depth below cwd, `a/b` anchored at cwd; `*` and `?` within a segment, `**` for any number of segments.
/// Where cwd is not known, such a pattern grants nothing and restricts from any folder on.
bool path_matches(std::string_view pattern, std::string_view path, const RuleContext&, Side);

/// May a pattern that matches `path` allow writing it? Files that decide what runs or is allowed later (.git, .claude,
/// .bashrc …) must be named by the pattern; the empty pattern names none.
bool may_write(std::string_view pattern, std::string_view path);

}  // namespace inbox_poller::config

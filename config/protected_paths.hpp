// Files and directories that decide what runs, or is allowed, later without a question: start files of shells and
// programs, hooks, timers, files of the loader and the session, and the program directories. Invariant: a rule allows
// writing to one of them only if its own text names it. Sources: cron(8), ld.so(8), profile of sh(1), bash(1), zsh(1),
// systemd.unit(5), launchd.plist(5), the XDG autostart specification, the manuals of git, ssh, npm, cargo, vim and gdb.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns the protected names in the normalized `path`, as a rule must name them: ".git", "/etc", ".local/bin". Empty:
/// none. A path with wildcards counts as every path that it may be. Names in the worker's own directory's path do not
/// count, nor does a system directory that contains the worker's directory.
std::vector<std::string> protections(std::string_view path, const RuleContext& context);

/// Returns true if a pattern that matches `path` may allow writing there: it names all protected names. The empty
/// pattern names nothing.
bool may_write(std::string_view pattern, std::string_view path, const RuleContext& context);

/// One row of the table in docs/reference/rules.md.
struct ProtectedRow {
  std::string_view where;  // "Linux", "macOS", "anywhere" …
  std::string_view names;  // separated by blanks
};
std::vector<ProtectedRow> protected_rows();

}  // namespace inbox_poller::config

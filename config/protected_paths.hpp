// Files and folders that decide what runs, or is allowed, later without anybody asking: start files of shells and
// programs, hooks, timers, what the loader and the session load, and the folders where programs are found. A rule
// allows writing one of them only where its own text names it. Sources: cron(8), ld.so(8), profile of sh(1), bash(1),
// zsh(1), systemd.unit(5), launchd.plist(5), the XDG autostart specification, the manuals of git, ssh, npm, cargo, vim
// and gdb.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns what in `path`, which is normalised, is protected, as a rule must name it: ".git", "/etc", ".local/bin". The
/// path may hold wildcards; then it is what it could be. Empty: nothing is. Names in the worker's own folder's path do
/// not count, nor does a system's folder that the worker's folder stands in.
std::vector<std::string> protections(std::string_view path, const RuleContext& context);

/// Tells whether a pattern that matches `path` may allow writing it: it names all that is protected there. The empty
/// pattern names nothing.
bool may_write(std::string_view pattern, std::string_view path, const RuleContext& context);

/// One line of the table in docs/reference/rules.md.
struct ProtectedRow {
  std::string_view where;  // "Linux", "macOS", "anywhere" …
  std::string_view names;  // with blanks between them
};
std::vector<ProtectedRow> protected_rows();

}  // namespace inbox_poller::config

// Warnings about rules that are well-formed but most likely a mistake. The rules stay in force; every start and
// check-config report the warnings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// Returns that no client has a tool of this name, with the nearest name; empty if one has.
std::optional<std::string> why_no_such_tool(std::string_view tool);

/// Returns why a deny or ask rule most likely does not restrict what it seems to: no call, or hardly any call, matches.
/// Empty: it does.
std::vector<std::string> holes_in(const PermissionRule&);

/// Returns where a relative path rule of the list `action` (deny or ask) ends, with the rule that also holds in the
/// checkout of a worktree. Empty: not such a rule, or another rule covers the checkout.
std::optional<std::string> reach_of(const PermissionRule&, Action list, const PermissionRules& rules);

/// Returns the warnings about one rule of the list `action`. `rules`: all rules of the file.
std::vector<std::string> advice_on(const PermissionRule&, Action list, const PermissionRules& rules);

}  // namespace inbox_poller::config

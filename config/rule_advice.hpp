// Rules that are well-formed and still most likely a slip. They stand, and are told at every start and by check-config.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

/// That no client has a tool of this name, with the nearest that exists.
std::optional<std::string> why_no_such_tool(std::string_view tool);

/// Why a deny or ask rule is most likely not the fence that it looks like: no call can meet it, or only calls that
/// hardly anybody makes. Empty: it meets what it says.
std::vector<std::string> holes_in(const PermissionRule&);

/// Where a relative path rule of the list `action` (deny or ask) ends: with the rule that also holds in the checkout
/// that a worktree was made from. Empty: it is no such rule, or another one covers that.
std::optional<std::string> reach_of(const PermissionRule&, Action list, const PermissionRules& rules);

/// What to tell about one rule of the list `action`; empty: nothing. `rules` are all of the file.
std::vector<std::string> advice_on(const PermissionRule&, Action list, const PermissionRules& rules);

}  // namespace inbox_poller::config

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

/// What to tell about one rule of the list `action`; empty: nothing. `rules` are all of the file.
std::vector<std::string> advice_on(const PermissionRule&, Action list, const PermissionRules& rules);

}  // namespace inbox_poller::config

// The rules that `init --allow` may write into a team's file, for work that people allow every day.
#pragma once

#include <span>
#include <string_view>

namespace inbox_poller::config {

/// Returns a preset's allow rules in the order in which they are shown: "read-only" (read the worker's directory),
/// "working" (also edit, build, test and commit there). Empty for every other name. Source: rules in public settings
/// files of agents; tests/fixtures/config/everyday_commands.txt lists what each preset allows.
std::span<const std::string_view> preset_rules(std::string_view preset);

}  // namespace inbox_poller::config

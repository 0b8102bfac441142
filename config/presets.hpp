// What `init --allow` may write into a team's file: rules for work that people allow every day.
#pragma once

#include <span>
#include <string_view>

namespace inbox_poller::config {

/// Returns the allow rules of a preset, in the order in which they are shown: "looking" (read what is in the own
/// folder), "working" (edit there, build, test and commit as well). Empty for every other name. Source: rules in public
/// settings files of agents; tests/fixtures/config/everyday_commands.txt says what each preset allows.
std::span<const std::string_view> preset_rules(std::string_view preset);

}  // namespace inbox_poller::config

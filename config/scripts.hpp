// Scripts inside arguments: what a script for sed, awk, jq or sqlite3 runs, writes or reads besides its operands.
// Coarse and cautious: a script that is not understood counts as a surprise.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// Returns why a script for this program does more than convert its input, as "which …"; empty: it does not.
std::optional<std::string> script_surprise(std::string_view program, std::string_view script);

}  // namespace inbox_poller::config

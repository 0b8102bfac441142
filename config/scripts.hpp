// Programs inside arguments: what a script for sed, awk, jq or sqlite3 would run, write or read besides its operands.
// Coarse, and on the careful side: what is not understood counts as a surprise.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// Why a script for this program does more than turn its input into its output, as "which …"; empty: it does not.
std::optional<std::string> script_surprise(std::string_view program, std::string_view script);

}  // namespace inbox_poller::config

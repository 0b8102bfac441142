// Formats an event as a readable line for a terminal: subject first, times as text, no empty fields. The complete line
// for programs is JSON (telemetry.cpp).
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "poller/context/telemetry.hpp"

namespace inbox_poller::poller {

constexpr std::size_t log_columns = 120;

/// Formats a line such as `02:31:09 demo ada: Bash: make request.decided pending -> approved by mona after 2.1 s
/// perm-1`. A line has at most 120 columns; long texts are cut with an ellipsis. The reason of a warning or error is
/// never cut, because it names the remedy. Times are local. `color` marks the event's name by its level.
std::string log_text(Event, const Fields&, EpochMs at_ms, bool color);

/// Formats a duration: 950 -> "950 ms", 65000 -> "1 min 5 s".
std::string time_text(long long milliseconds);

/// Prefix of a line for journald, such as "<4>" for a warning.
std::string_view journal_prefix(config::LogLevel);

}  // namespace inbox_poller::poller

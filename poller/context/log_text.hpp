// An event as a line for a person at a terminal: whom it is about first, times as times, nothing that is empty. The line
// for programs is JSON (telemetry.cpp), and has everything.
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "poller/context/telemetry.hpp"

namespace inbox_poller::poller {

constexpr std::size_t log_columns = 120;

/// `02:31:09  demo ada: Bash: make  request.decided  pending -> approved  by mona  after 2.1 s  perm-1`: at most 120
/// columns, long texts cut with an ellipsis. The reason of a warning or an error is whole, however long: it says what to do.
/// Times are local. `colour`: the event's name stands out by its level.
std::string log_text(Event, const Fields&, EpochMs at_ms, bool colour);

/// 950 -> "950 ms", 65000 -> "1 min 5 s".
std::string time_text(long long milliseconds);

/// "<4>" for a warning, as journald takes a line's level.
std::string_view journal_prefix(config::LogLevel);

}  // namespace inbox_poller::poller

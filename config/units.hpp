// Durations and sizes as written in the configuration: one whole number and its unit, "500ms", "10min", "64MiB".
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "schema/error.hpp"

namespace inbox_poller::config {

Result<Duration> parse_duration(std::string_view text);  // ms s min h d
Result<Bytes> parse_bytes(std::string_view text);        // B kB MB GB KiB MiB GiB

/// Returns the value in the largest unit without a remainder; parses back to the same value.
std::string to_text(Duration);
std::string to_text(Bytes);

}  // namespace inbox_poller::config

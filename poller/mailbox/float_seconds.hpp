// Conversion between the times of Python peers (seconds since the Unix epoch, with a fraction) and our timestamps. All
// digits are kept.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::poller {

/// Converts a JSON token: "1771234567.25" becomes "2026-02-16T09:36:07.250Z", with all digits of the fraction. Returns
/// the content of a string, and any other token unchanged.
std::string timestamp_of_seconds(std::string_view token);

/// Converts a timestamp of ours to the form of a Python float; "0.0" for any other text.
std::string seconds_of_timestamp(std::string_view timestamp);

}  // namespace inbox_poller::poller

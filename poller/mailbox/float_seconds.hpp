// Moments as peers write them who are Python programs: seconds since the Unix epoch, with a fraction. And the same as a
// timestamp of ours, digit by digit.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::poller {

/// Of a JSON token: "1771234567.25" becomes "2026-02-16T09:36:07.250Z", all digits behind the point stay. A string is
/// what it says, anything else as it is written.
std::string timestamp_of_seconds(std::string_view token);

/// The same moment as Python writes a float; "0.0" for what is no timestamp of ours.
std::string seconds_of_timestamp(std::string_view timestamp);

}  // namespace inbox_poller::poller

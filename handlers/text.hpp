// Text of unknown origin for a one-line sentence. Not an escaper for any output format: logs, terminals and the lead's
// blocks escape for themselves.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::handlers {

/// Returns at most `limit` bytes of the text, cut between UTF-8 characters.
std::string_view beginning(std::string_view text, std::size_t limit);

/// Replaces control characters by spaces; a text of more than `limit` bytes is cut between characters and ends in "…".
std::string one_line(std::string_view text, std::size_t limit = 200);

/// Returns the text as one short line in quotes, for names and types in a reason.
std::string shown(std::string_view text);

}  // namespace inbox_poller::handlers

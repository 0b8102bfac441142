// Text of unknown origin made fit to stand in a one-line sentence of ours. Not an escaper for any output format; logs,
// terminals and the lead's blocks escape for themselves.
#pragma once

#include <string>
#include <string_view>

namespace inbox_poller::handlers {

/// At most so many bytes of it, and no half character.
std::string_view beginning(std::string_view text, std::size_t limit);

/// Control characters become spaces, and more than `limit` bytes are cut at a character and end in "…".
std::string one_line(std::string_view text, std::size_t limit = 200);

/// The same in quotes, shorter: for names and types in a reason.
std::string shown(std::string_view text);

}  // namespace inbox_poller::handlers

// A reader of decimal numbers with the same result on every system. Not a JSON parser: the caller has the token. Needed
// because macOS libc++ before version 20 has no std::from_chars for double, and std::strtod depends on the locale.
#pragma once

#include <optional>
#include <string>

namespace inbox_poller::schema {

/// Returns the double nearest to `text`, such as "-2.5e1". Returns nothing for any other text, a leading plus, or a
/// number that is too large or too small. Safe on every thread; independent of the locale.
std::optional<double> read_decimal(const std::string& text);

}  // namespace inbox_poller::schema

// Reads a decimal number as a double, in the same way on every system. It is not a JSON parser: the caller has a token already.
// The libc++ of macOS has no std::from_chars for a double before version 20, and std::strtod follows the locale.
#pragma once

#include <optional>
#include <string>

namespace inbox_poller::schema {

/// Reads the whole of `text`, such as "-2.5e1", as the nearest double. Returns nothing when `text` is anything else, has a plus in
/// front, or is too large or too small for a double. Safe on every thread; the locale is without influence.
std::optional<double> read_decimal(const std::string& text);

}  // namespace inbox_poller::schema

// Reading an enum back from the text that its to_string() gives.
#pragma once

#include <optional>
#include <string_view>

namespace inbox_poller::handlers {

/// The value of this name. Our enums count from 0 without a gap, and what is behind the last one has no name.
template <class Enum>
std::optional<Enum> parse_enum(std::string_view text) {
  for (int number = 0;; ++number) {
    const auto value = static_cast<Enum>(number);
    if (to_string(value).empty()) return std::nullopt;
    if (to_string(value) == text) return value;
  }
}

}  // namespace inbox_poller::handlers

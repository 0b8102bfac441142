// A message's key as the tables have it: the 16 bytes of its 32 digits and, of a repetition, the digits of its number
// behind them. Sixteen bytes instead of 32 in every row and index that names a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inbox_poller::poller {

/// Empty for an empty key; nothing for a text that is no key.
std::optional<std::string> key_bytes(std::string_view key);
/// The other way; nothing for bytes that are no key.
std::optional<std::string> key_text(std::string_view bytes);

/// Keys that begin with `prefix` are from the first on and before the second; nothing when no key begins so.
std::optional<std::pair<std::string, std::string>> key_range(std::string_view prefix);

}  // namespace inbox_poller::poller

// Message keys in the tables: the 16 bytes of the 32 digits, followed by the digits of a repetition's number. This
// saves 16 bytes in each row and index entry with a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inbox_poller::poller {

/// Packs a key. An empty key gives no bytes; a text that is not a key gives nullopt.
std::optional<std::string> key_bytes(std::string_view key);
/// Unpacks the bytes of key_bytes(); nullopt for other bytes.
std::optional<std::string> key_text(std::string_view bytes);

/// Returns the range [first, second) of the packed keys that begin with `prefix`; nullopt if no key can begin so.
std::optional<std::pair<std::string, std::string>> key_range(std::string_view prefix);

}  // namespace inbox_poller::poller

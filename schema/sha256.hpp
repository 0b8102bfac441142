// SHA-256, by libcrypto. Used to tell messages apart and to bind a decision to what was asked; nothing secret depends on
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace inbox_poller::schema {

/// Throws std::bad_alloc where libcrypto cannot begin, which only a lack of memory explains.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace inbox_poller::schema

// SHA-256, by libcrypto. Tells messages apart and binds a decision to its contents; no secret depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace inbox_poller::schema {

/// Returns the hash. Throws std::bad_alloc if libcrypto cannot start, which only a lack of memory explains.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace inbox_poller::schema

// SHA-256 (FIPS 180-4). Ours because none of our packages brings a cryptographic library and this is one pure function
// of bytes; its test vectors are the published ones. Used to tell messages apart and to bind a decision to what was
// asked. Not used for, and not hardened for, anything secret.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace inbox_poller::schema {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace inbox_poller::schema

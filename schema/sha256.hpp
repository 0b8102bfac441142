// SHA-256 (FIPS 180-4). Ours because none of our packages brings a cryptographic library and this is one pure function
// of bytes; its test vectors are the published ones. Used to tell messages apart and to bind a decision to what was
// asked. Not used for, and not hardened for, anything secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inbox_poller::schema {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256& update(std::string_view bytes);
  /// Ends the computation; the object is not to be used afterwards.
  Digest finish();

 private:
  void compress(const char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, 64> pending_ = {};  // the bytes of a block that is not full yet
  std::uint64_t length_ = 0;           // of everything so far, in bytes
};

}  // namespace inbox_poller::schema

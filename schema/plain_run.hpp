// Texts are nearly all plain: what looks at each character of one goes over its plain part eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace inbox_poller::schema {

/// Where the printable ASCII (blank to '~') ends that begins at `begin`.
inline std::size_t end_of_printable(std::string_view text, std::size_t begin) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t end = begin;
  for (std::uint64_t word = 0; end + sizeof word <= text.size(); end += sizeof word) {
    std::memcpy(&word, text.data() + end, sizeof word);
    // The highest bit of a byte is set here where it is above 0x7F, is 0x7F, or is below a blank. What a borrow or a
    // carry adds stands behind such a byte.
    if (((word | (word + ones) | ((word - ones * 0x20) & ~word)) & (ones << 7)) != 0) break;
  }
  while (end < text.size() && text[end] >= ' ' && text[end] <= '~') ++end;
  return end;
}

}  // namespace inbox_poller::schema

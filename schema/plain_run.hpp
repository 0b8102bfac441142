// Most texts are plain, so a reader of single characters skips a text's plain part eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace inbox_poller::schema {

/// Returns the end of the printable ASCII (blank to '~') that begins at `begin`.
inline std::size_t end_of_printable(std::string_view text, std::size_t begin) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t end = begin;
  for (std::uint64_t word = 0; end + sizeof word <= text.size(); end += sizeof word) {
    std::memcpy(&word, text.data() + end, sizeof word);
    // Sets the highest bit of each byte that is above 0x7E or below a blank. A borrow or a carry changes only bytes
    // after such a byte.
    if (((word | (word + ones) | ((word - ones * 0x20) & ~word)) & (ones << 7)) != 0) break;
  }
  while (end < text.size() && text[end] >= ' ' && text[end] <= '~') ++end;
  return end;
}

}  // namespace inbox_poller::schema

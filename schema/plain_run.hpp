// Most texts are plain, so a reader of single characters skips a text's plain part: sixteen bytes at a time with SSE2,
// which each 64-bit x86 has, otherwise eight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>

#include <bit>
#endif

namespace inbox_poller::schema {

/// The bytes that end a plain part: those below `from`, those of 0x80 and above if `ascii`, and two others.
struct PlainEnds {
  unsigned char from = 0;
  bool ascii = false;
  char one = '\\';
  char other = '\\';

  /// True if the byte ends a plain part.
  [[nodiscard]] constexpr bool has(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return byte < from || (ascii && byte >= 0x80) || c == one || c == other;
  }
};

/// Returns the end of the plain part of `text` that begins at `at`, at most the end of the text.
template <PlainEnds ends>
std::size_t end_of_plain(std::string_view text, std::size_t at) {
  static_assert(ends.ascii == (ends.from > 0), "one signed comparison finds both");
#ifdef __SSE2__
  for (__m128i bytes; at + sizeof bytes <= text.size(); at += sizeof bytes) {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    __m128i found = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(ends.one));
    if constexpr (ends.other != ends.one) found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(ends.other)));
    if constexpr (ends.ascii)  // bytes of 0x80 and above are negative
      found = _mm_or_si128(found, _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(ends.from))));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found)); mask != 0)
      return at + static_cast<std::size_t>(std::countr_zero(mask));
  }
#else
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr auto has = [](std::uint64_t word, char wanted) {  // a byte is 0 exactly where subtracting 1 borrows
    const std::uint64_t difference = word ^ (ones * static_cast<unsigned char>(wanted));
    return (difference - ones) & ~difference;
  };
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    std::uint64_t found = has(word, ends.one) | has(word, ends.other);
    // A borrow changes only bytes after one that is found.
    if constexpr (ends.ascii) found |= ((word - ones * ends.from) & ~word) | word;
    if ((found & (ones << 7)) != 0) break;
  }
#endif
  while (at < text.size() && !ends.has(text[at])) ++at;
  return at;
}

/// Returns the end of the printable ASCII (blank to '~') that begins at `begin`.
inline std::size_t end_of_printable(std::string_view text, std::size_t begin) {
  return end_of_plain<PlainEnds{.from = ' ', .ascii = true, .one = '\x7F', .other = '\x7F'}>(text, begin);
}

}  // namespace inbox_poller::schema

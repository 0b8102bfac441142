// Every character there is, for tests of tables.
#pragma once

#include <string>

namespace inbox_poller::test {

inline std::string utf8(char32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  const auto tail = [&](int shift) { return static_cast<char>(0x80U | ((c >> shift) & 0x3FU)); };
  if (c < 0x800) return {static_cast<char>(0xC0U | (c >> 6)), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0U | (c >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | (c >> 18)), tail(12), tail(6), tail(0)};
}

template <class Work>
void for_each_code_point(Work work) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c)
    if (c < 0xD800 || c > 0xDFFF) work(c);
}

/// All of the first planes' alphabets, all that `is_telling` picks with its neighbors, and one in 97 of the rest: for
/// what costs microseconds for each. The table itself is compared at every code point, by the one above.
template <class IsTelling, class Work>
void for_each_telling_code_point(IsTelling is_telling, Work work) {
  for_each_code_point([&](char32_t c) {
    if (c < 0x3400 || c % 97 == 0 || is_telling(c - 1) || is_telling(c) || is_telling(c + 1)) work(c);
  });
}

}  // namespace inbox_poller::test

// UTF-8 as read by browsers and Node (WHATWG decoder: one U+FFFD for each maximal ill-formed part), so that a file that
// a JavaScript peer rewrites decodes to the same text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

struct CodePoint {
  char32_t value = 0xFFFD;
  std::size_t length = 1;  // bytes read; at least 1
  bool valid = false;
};

/// Returns the code point that begins at `position`, which must be inside the text.
CodePoint code_point_at(std::string_view text, std::size_t position);

/// Returns the bytes of that code point, or of U+FFFD if it is ill-formed.
std::string_view spelling(std::string_view text, std::size_t position, const CodePoint&);

/// Appends a Unicode code point (not a surrogate).
void append_utf8(std::string& out, char32_t value);

}  // namespace inbox_poller::schema

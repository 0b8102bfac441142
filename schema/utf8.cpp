#include "schema/utf8.hpp"

namespace inbox_poller::schema {

CodePoint code_point_at(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(position);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};

  const std::size_t needed = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  char32_t value = lead & (needed == 1 ? 0x1Fu : needed == 2 ? 0x0Fu : 0x07u);
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i <= needed; ++i) {
    if (position + i >= text.size()) return {0xFFFD, i, false};
    const unsigned next = byte(position + i);
    if (next < low || next > high) return {0xFFFD, i, false};
    value = (value << 6) | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {value, needed + 1, true};
}

void append_utf8(std::string& out, char32_t value) {
  const auto rest = [&](int shift) { out += static_cast<char>(0x80 | ((value >> shift) & 0x3F)); };
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0 | (value >> 6));
    rest(0);
  } else if (value < 0x10000) {
    out += static_cast<char>(0xE0 | (value >> 12));
    rest(6);
    rest(0);
  } else {
    out += static_cast<char>(0xF0 | (value >> 18));
    rest(12);
    rest(6);
    rest(0);
  }
}

std::string_view spelling(std::string_view text, std::size_t position, const CodePoint& point) {
  return point.valid ? text.substr(position, point.length) : "\xEF\xBF\xBD";
}

}  // namespace inbox_poller::schema

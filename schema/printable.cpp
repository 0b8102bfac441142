#include "schema/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

/// Controls behind ASCII, and what a reader cannot see or what changes the direction of what he reads.
bool is_odd(char32_t value) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr std::array<Range, 13> odd{{{0x7F, 0x9F},
                                              {0xAD, 0xAD},
                                              {0x34F, 0x34F},
                                              {0x61C, 0x61C},
                                              {0x115F, 0x1160},
                                              {0x180B, 0x180E},
                                              {0x200B, 0x200F},
                                              {0x2028, 0x202E},
                                              {0x2060, 0x206F},
                                              {0x3164, 0x3164},
                                              {0xFEFF, 0xFEFF},
                                              {0xFFF9, 0xFFFB},
                                              {0xE0000, 0xE0FFF}}};
  return std::any_of(odd.begin(), odd.end(), [&](const Range& r) { return value >= r.first && value <= r.last; });
}

std::string hex(const char* format, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string escaped(char32_t value) {
  switch (value) {
    case U'\n': return "\\n";
    case U'\r': return "\\r";
    case U'\t': return "\\t";
    default: return value < 0x80 ? hex("\\x%02x", value) : hex("<U+%04X>", value);
  }
}

std::string json_escaped(char32_t value) {
  if (value < 0x10000) return hex("\\u%04x", value);
  return hex("\\u%04x", 0xD7C0 + (value >> 10)) + hex("\\u%04x", 0xDC00 + (value & 0x3FF));
}

/// The text with every character that `spell` has a spelling for replaced by it; bytes that are not UTF-8 come one by
/// one.
template <class Spell>
std::string replace(std::string_view text, Spell spell) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const std::string spelling = spell(point, text.substr(at, point.length));
    if (spelling.empty())
      out += text.substr(at, point.length);
    else
      out += spelling;
    at += point.length;
  }
  return out;
}

std::string spell(const CodePoint& point, std::string_view bytes) {
  if (point.valid) return point.value < 0x20 || is_odd(point.value) ? escaped(point.value) : std::string();
  std::string out;
  for (const char byte : bytes) out += hex("\\x%02x", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return replace(text, spell); }

std::string printable_block(std::string_view text, std::string_view margin) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto spell_in_block = [&](const CodePoint& point, std::string_view bytes) {
    if (point.value == U'\n') return '\n' + std::string(margin);
    if (point.value == U'\t') return std::string("\t");
    return spell(point, bytes);
  };
  return std::string(margin) + replace(text, spell_in_block) + '\n';
}

std::string printable_json(std::string_view json) {
  return replace(json, [](const CodePoint& point, std::string_view) -> std::string {
    if (!point.valid) return "\\ufffd";
    return is_odd(point.value) ? json_escaped(point.value) : std::string();
  });
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace inbox_poller::schema

#include "schema/printable.hpp"

#include <cstdio>

#include "schema/odd_characters.hpp"
#include "schema/plain_run.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

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

/// Replaces every character for which `spell` has a spelling. `bytes` may be one ill-formed part.
template <class Spell>
std::string replace(std::string_view text, Spell spell) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t odd = end_of_printable(text, at);  // no spelling replaces printable ASCII
    out.append(text, at, odd - at);
    at = odd;
    if (at == text.size()) break;
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
  if (point.valid) return is_odd(point.value) ? escaped(point.value) : std::string();
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
    // A raw newline or tab is between tokens; inside a text, JSON has escaped it.
    return point.value >= 0x20 && is_odd(point.value) ? json_escaped(point.value) : std::string();
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

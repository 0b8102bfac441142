// The string half of json_scan.hpp: tokens to values and back.
#include <algorithm>
#include <array>
#include <cstdio>

#include "schema/json_scan.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

/// The four digits of a \u escape at the beginning of `text`; empty when it is not one.
std::optional<char32_t> unicode_escape(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  char32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    unit <<= 4;
    if (c >= '0' && c <= '9') {
      unit |= static_cast<char32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      unit |= static_cast<char32_t>(lower - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

/// The scalar value of the \u escape, or of the pair of them, at the beginning of `text`. Not valid for a lone
/// surrogate.
CodePoint escaped_code_point(std::string_view text) {
  const auto unit = unicode_escape(text);
  if (!unit) return {0xFFFD, 6, false};
  if (*unit < 0xD800 || *unit > 0xDFFF) return {*unit, 6, true};
  const char32_t second = *unit < 0xDC00 ? unicode_escape(text.substr(6)).value_or(0) : 0;
  if (second < 0xDC00 || second > 0xDFFF) return {0xFFFD, 6, false};
  return {0x10000 + ((*unit - 0xD800) << 10) + (second - 0xDC00), 12, true};
}

char simple_escape(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;  // '"', '\\' and '/' stand for themselves
  }
}

bool is_plain(char c) {
  return c != '\\' && static_cast<unsigned char>(c) < 0x80;
}

std::size_t plain_run(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && is_plain(text[end])) ++end;
  return end - begin;
}

/// Appends the UTF-8 sequence at `position`, or U+FFFD for it; returns how many bytes it took.
std::size_t append_repaired(std::string& out, std::string_view text, std::size_t position) {
  const CodePoint point = code_point_at(text, position);
  out += point.valid ? text.substr(position, point.length) : replacement_character;
  return point.length;
}

}  // namespace

std::optional<std::string_view> decode_string(std::string_view token, std::string& scratch) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return std::nullopt;
  const std::string_view body = token.substr(1, token.size() - 2);
  std::size_t position = plain_run(body, 0);
  if (position == body.size()) return body;

  scratch.assign(body, 0, position);
  while (position < body.size()) {
    if (body[position] != '\\') {
      position += append_repaired(scratch, body, position);
    } else if (position + 1 < body.size() && body[position + 1] == 'u') {
      const CodePoint point = escaped_code_point(body.substr(position));
      append_utf8(scratch, point.value);
      position += std::min(point.length, body.size() - position);
    } else {
      if (position + 1 == body.size()) return std::nullopt;
      scratch += simple_escape(body[position + 1]);
      position += 2;
    }
    const std::size_t run = plain_run(body, position);
    scratch.append(body, position, run);
    position += run;
  }
  return scratch;
}

std::optional<std::string> decode_string(std::string_view token) {
  std::string scratch;
  const auto value = decode_string(token, scratch);
  if (!value) return std::nullopt;
  return std::string(*value);
}

std::string make_parsable(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (std::size_t position = 0; position < json.size();) {
    const std::size_t run = plain_run(json, position);
    result.append(json, position, run);
    position += run;
    if (position == json.size()) break;
    if (json[position] != '\\') {
      position += append_repaired(result, json, position);
    } else if (const std::string_view rest = json.substr(position); unicode_escape(rest)) {
      const CodePoint point = escaped_code_point(rest);
      result += point.valid ? rest.substr(0, point.length) : "\\ufffd";
      position += point.length;
    } else {
      result += rest.substr(0, 2);  // any other escape: both characters, so that "\\u" is not taken for one
      position += rest.substr(0, 2).size();
    }
  }
  return result;
}

std::string quote(std::string_view value) {
  std::string token = "\"";
  token.reserve(value.size() + 2);
  for (std::size_t position = 0; position < value.size();) {
    const char c = value[position];
    const std::string_view named = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: the character, the letter of its escape
    std::size_t pair = 0;
    while (pair < named.size() && named[pair] != c) pair += 2;
    if (pair < named.size()) {
      token += '\\';
      token += named[pair + 1];
      ++position;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      token += escape.data();
      ++position;
    } else {
      position += append_repaired(token, value, position);
    }
  }
  return token += '"';
}

}  // namespace inbox_poller::schema

// The string half of json_scan.hpp: tokens to values and back. Boost.JSON writes the escapes, but does not read them:
// it refuses texts that JavaScript accepts, and every byte of every message is read here.
#include <boost/json.hpp>
#include <charconv>
#include <cstdint>

#include "schema/json_scan.hpp"
#include "schema/plain_run.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

/// Returns the UTF-16 unit of a \u escape at the beginning of `text`; empty if it is none.
std::optional<std::uint16_t> unicode_escape(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  std::uint16_t unit = 0;
  const char* const end = text.data() + 6;
  if (std::from_chars(text.data() + 2, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

/// Returns the number of bytes from there that need no decoding.
std::size_t plain_run(std::string_view text, std::size_t begin) {
  return end_of_plain<PlainEnds{.from = ' ', .ascii = true}>(text, begin) - begin;
}

/// Appends the code point at `position`, or U+FFFD for it; returns the number of bytes read.
std::size_t append_repaired(std::string& out, std::string_view text, std::size_t position) {
  const CodePoint point = code_point_at(text, position);
  out += spelling(text, position, point);
  return point.length;
}

/// Returns the code point of a \u escape and the bytes read, including the second escape of a pair. A half without its
/// other half is U+FFFD.
CodePoint unicode_escapes(std::string_view text, std::uint16_t unit) {
  if (unit < 0xD800 || unit > 0xDFFF) return {unit, 6, true};
  const auto second = unit < 0xDC00 ? unicode_escape(text.substr(6)) : std::nullopt;
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return {0xFFFD, 6, false};
  return {0x10000u + ((unit - 0xD800u) << 10) + (*second - 0xDC00u), 12, true};
}

/// Appends the value of the escape at the beginning of `text`; returns the number of bytes read, 0 for no escape.
std::size_t append_escape(std::string& out, std::string_view text) {
  switch (text.size() < 2 ? '\0' : text[1]) {
    case '"':
    case '\\':
    case '/': out += text[1]; return 2;
    case 'b': out += '\b'; return 2;
    case 'f': out += '\f'; return 2;
    case 'n': out += '\n'; return 2;
    case 'r': out += '\r'; return 2;
    case 't': out += '\t'; return 2;
    default: break;
  }
  const auto unit = unicode_escape(text);
  if (!unit) return 0;
  const CodePoint point = unicode_escapes(text, *unit);
  append_utf8(out, point.value);
  return point.length;
}

}  // namespace

std::optional<std::string_view> decode_string(std::string_view token, std::string& room) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return std::nullopt;
  const std::string_view body = token.substr(1, token.size() - 2);
  std::size_t position = plain_run(body, 0);
  if (position == body.size()) return body;

  room.clear();
  room.reserve(body.size());
  room.append(body, 0, position);
  while (position < body.size()) {
    if (body[position] == '\\') {
      const std::size_t taken = append_escape(room, body.substr(position));
      if (taken == 0) return std::nullopt;
      position += taken;
    } else if (is_control(body[position])) {
      room += body[position++];
    } else {
      position += append_repaired(room, body, position);
    }
    const std::size_t run = plain_run(body, position);
    room.append(body, position, run);
    position += run;
  }
  return room;
}

std::optional<std::string> decode_string(std::string_view token) {
  std::string room;
  const auto text = decode_string(token, room);
  if (!text) return std::nullopt;
  return text->data() == room.data() ? std::move(room) : std::string(*text);
}

std::string make_parsable(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (std::size_t position = 0; position < json.size();) {
    const std::size_t run = plain_run(json, position);
    result.append(json, position, run);
    position += run;
    if (position == json.size()) break;
    const std::string_view rest = json.substr(position);
    if (is_control(rest.front())) {
      result += rest.front();
      ++position;
    } else if (rest.front() != '\\') {
      position += append_repaired(result, json, position);
    } else if (const auto unit = unicode_escape(rest)) {
      const CodePoint point = unicode_escapes(rest, *unit);
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
  if (plain_run(value, 0) == value.size() && value.find('"') == std::string_view::npos) {
    std::string plain;
    plain.reserve(value.size() + 2);
    return plain.append(1, '"').append(value).append(1, '"');
  }
  std::string repaired;
  repaired.reserve(value.size());
  for (std::size_t position = 0; position < value.size();) {
    const std::size_t run = plain_run(value, position);
    repaired.append(value, position, run);
    position += run;
    if (position < value.size()) position += append_repaired(repaired, value, position);
  }
  return boost::json::serialize(boost::json::string(repaired));
}

}  // namespace inbox_poller::schema

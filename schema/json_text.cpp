// The string half of json_scan.hpp: tokens to values and back. Boost.JSON reads and writes the escapes; ours is what it
// refuses and JavaScript accepts.
#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "schema/json_scan.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

/// The UTF-16 unit of a \u escape at the beginning of `text`; empty when it is not one.
std::optional<std::uint16_t> unicode_escape(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  std::uint16_t unit = 0;
  const char* const end = text.data() + 6;
  if (std::from_chars(text.data() + 2, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

bool is_plain(char c) { return c != '\\' && !is_control(c) && static_cast<unsigned char>(c) < 0x80; }

/// How many bytes from there on every reader takes for themselves; looks at eight at a time.
std::size_t plain_run(std::string_view text, std::size_t begin) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t end = begin;
  for (std::uint64_t word = 0; end + sizeof word <= text.size(); end += sizeof word) {
    std::memcpy(&word, text.data() + end, sizeof word);
    const std::uint64_t slash = word ^ (ones * '\\');
    const std::uint64_t borrows = ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
    if (((borrows | word) & (ones << 7)) != 0) break;
  }
  while (end < text.size() && is_plain(text[end])) ++end;
  return end - begin;
}

/// Appends the code point at `position`, or U+FFFD for it; returns how many bytes it took.
std::size_t append_repaired(std::string& out, std::string_view text, std::size_t position) {
  const CodePoint point = code_point_at(text, position);
  out += spelling(text, position, point);
  return point.length;
}

/// make_parsable; a token has no white space between its parts, so that its control characters are escaped as well.
std::string strict(std::string_view json, bool is_token) {
  std::string result;
  result.reserve(json.size());
  for (std::size_t position = 0; position < json.size();) {
    const std::size_t run = plain_run(json, position);
    result.append(json, position, run);
    position += run;
    if (position == json.size()) break;
    const std::string_view rest = json.substr(position);
    if (is_control(rest.front())) {
      const std::string escaped = boost::json::serialize(boost::json::string(rest.substr(0, 1)));
      result += is_token ? std::string_view(escaped).substr(1, escaped.size() - 2) : rest.substr(0, 1);
      ++position;
    } else if (rest.front() != '\\') {
      position += append_repaired(result, json, position);
    } else if (const auto unit = unicode_escape(rest)) {
      const bool half = *unit >= 0xD800 && *unit <= 0xDFFF;
      const auto second = half && *unit < 0xDC00 ? unicode_escape(rest.substr(6)) : std::nullopt;
      const bool pair = second && *second >= 0xDC00 && *second <= 0xDFFF;
      result += half && !pair ? "\\ufffd" : rest.substr(0, pair ? 12 : 6);
      position += pair ? 12 : 6;
    } else {
      result += rest.substr(0, 2);  // any other escape: both characters, so that "\\u" is not taken for one
      position += rest.substr(0, 2).size();
    }
  }
  return result;
}

}  // namespace

std::optional<std::string> decode_string(std::string_view token) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return std::nullopt;
  const std::string_view body = token.substr(1, token.size() - 2);
  if (plain_run(body, 0) == body.size()) return std::string(body);

  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(strict(token, true), error);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string().data(), value.get_string().size());
}

std::string make_parsable(std::string_view json) { return strict(json, false); }

std::string quote(std::string_view value) {
  std::string repaired;
  repaired.reserve(value.size());
  for (std::size_t position = 0; position < value.size();) position += append_repaired(repaired, value, position);
  return boost::json::serialize(boost::json::string(repaired));
}

}  // namespace inbox_poller::schema

#include "schema/envelope.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <vector>

#include "schema/decimal.hpp"
#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "schema/plain_run.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace json = boost::json;

namespace {

constexpr std::size_t most_levels = 1000;

std::string unit_escape(std::uint32_t unit) {
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "\\u%04x", unit & 0xFFFFU);
  return text.data();
}

/// Returns the value as from quote(), with non-ASCII characters as escapes, if necessary a surrogate pair.
std::string ascii_quote(std::string_view value) {
  const std::string quoted = quote(value);
  std::string out;
  out.reserve(quoted.size());
  for (std::size_t at = 0; at < quoted.size();) {
    std::size_t plain = at;
    while (plain < quoted.size() && static_cast<unsigned char>(quoted[plain]) < 0x7F) ++plain;
    out.append(quoted, at, plain - at);
    at = plain;
    if (at == quoted.size()) break;
    const CodePoint point = code_point_at(quoted, at);
    if (point.value < 0x10000) {
      out += unit_escape(point.value);
    } else {
      out += unit_escape(0xD800 + ((point.value - 0x10000) >> 10));
      out += unit_escape(0xDC00 + ((point.value - 0x10000) & 0x3FF));
    }
    at += point.length;
  }
  return out;
}

/// Always with a point or an exponent, so that a reader that distinguishes 1 from 1.0 gets a float.
std::string number_token(double number) {
  if (std::isnan(number)) return "0.0";                                // the parser's result for 0e400
  if (!std::isfinite(number)) return number < 0 ? "-1e999" : "1e999";  // the parser's result for 1e400
  std::array<char, 40> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  std::string token(text.data(), end);
  if (token.find_first_of(".e") == std::string::npos) token += ".0";
  return token;
}

/// Returns "[", each part on its own line, "]".
std::string enclosed(char open, const std::vector<std::string>& parts, char close, std::size_t level) {
  std::string text(1, open);
  for (const std::string& part : parts)
    text += (text.size() > 1 ? ",\n" : "\n") + std::string(2 * (level + 1), ' ') + part;
  if (!parts.empty()) text += '\n' + std::string(2 * level, ' ');
  return text + close;
}

// The functions below write what json::serialize() writes, and a number that is not finite as a text. The library looks
// at each byte of a text, and most texts are plain.

void append_text(std::string& out, std::string_view text) {
  constexpr PlainEnds escaped{.from = ' ', .ascii = true, .one = '"', .other = '\\'};
  if (end_of_plain<escaped>(text, 0) == text.size())
    out.append("\"").append(text).append("\"");
  else
    out += json::serialize(json::string_view(text));
}

void append(std::string& out, const json::value& value);

void append(std::string& out, const json::object& object) {
  out += '{';
  for (const auto& member : object) {
    if (&member != object.begin()) out += ',';
    append_text(out, member.key());
    out += ':';
    append(out, member.value());
  }
  out += '}';
}

void append(std::string& out, const json::value& value) {
  if (const auto* object = value.if_object()) return append(out, *object);
  if (const auto* text = value.if_string()) return append_text(out, *text);
  if (const auto* number = value.if_double(); number != nullptr && !std::isfinite(*number))
    return append_text(out, std::isnan(*number) ? "0.0" : std::signbit(*number) ? "-1e999" : "1e999");
  if (const auto* number = value.if_int64()) {
    out += std::to_string(*number);
    return;
  }
  if (const auto* is_so = value.if_bool()) {
    out += *is_so ? "true" : "false";
    return;
  }
  const auto* array = value.if_array();
  if (array == nullptr) {
    out += json::serialize(value);
    return;
  }
  out += '[';
  for (const json::value& one : *array) {
    if (&one != array->begin()) out += ',';
    append(out, one);
  }
  out += ']';
}

template <class Json>
std::string strictly(const Json& json) {
  std::string text;
  append(text, json);
  return text;
}

}  // namespace

Result<Envelope> Envelope::decode(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const auto members = scan_object(bytes);
  if (!members) return Error{"envelope.syntax", members.error().message};
  Envelope envelope;
  for (const MemberSpan& member : *members)
    envelope.members_[decode_string(member.key.of(bytes)).value_or("")] = member.value.of(bytes);
  return envelope;
}

std::string Envelope::text(std::string_view key) const {
  const auto found = members_.find(key);
  return found == members_.end() ? std::string() : decode_string(found->second).value_or("");
}

std::optional<double> Envelope::number(std::string_view key) const {
  const auto found = members_.find(key);
  return found == members_.end() ? std::nullopt : read_decimal(found->second);
}

std::string_view Envelope::raw(std::string_view key) const {
  const auto found = members_.find(key);
  return found == members_.end() ? std::string_view() : found->second;
}

bool Envelope::has_only(std::initializer_list<std::string_view> keys) const {
  return std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
    return std::find(keys.begin(), keys.end(), member.first) != keys.end();
  });
}

Envelope& Envelope::set(std::string_view key, const json::value& value) { return set_raw(key, pretty_ascii(value, 1)); }
Envelope& Envelope::set(std::string_view key, std::string_view text) { return set_raw(key, ascii_quote(text)); }

Envelope& Envelope::set_raw(std::string_view key, std::string token) {
  members_.insert_or_assign(std::string(key), std::move(token));
  return *this;
}

Envelope& Envelope::drop(std::string_view key) {
  if (const auto found = members_.find(key); found != members_.end()) members_.erase(found);
  return *this;
}

std::string Envelope::encode() const {
  std::vector<std::string> parts;
  for (const auto& [key, token] : members_) parts.push_back(ascii_quote(key) + ": " + token);
  return enclosed('{', parts, '}', 0) + '\n';
}

json::object Envelope::object() const {
  json::object object;
  for (const auto& [key, token] : members_) {
    Result<json::value> value = parse_value(token);
    // The parser is sometimes off by a digit, but a time should be shown as written.
    if (value && value->is_double()) value = json::value(number(key).value_or(value->get_double()));
    object[key] = value ? *std::move(value) : json::value(make_parsable(token));
  }
  return object;
}

std::string identity_of(const Envelope& envelope) {
  std::string id = envelope.text("id");
  return id.empty() ? "sha256:" + content_hash(envelope.encode()) : id;
}

std::string id_hinted_by(std::string_view file_name) {
  if (!file_name.ends_with(".json")) return {};
  file_name.remove_suffix(5);
  if (file_name.starts_with("msg_")) return std::string(file_name.substr(4));
  const std::size_t digits = file_name.find_first_not_of("0123456789");
  const bool known = digits != std::string_view::npos && digits > 0 && file_name[digits] == '-';
  return known ? std::string(file_name.substr(digits + 1)) : std::string();
}

std::string seconds_token(long long epoch_ns) {
  std::array<char, 40> text;
  const long long us = std::max(epoch_ns, 0LL) / 1000;
  std::snprintf(text.data(), text.size(), "%lld.%06lld", us / 1'000'000, us % 1'000'000);
  return text.data();
}

std::string pretty_ascii(const json::value& value, std::size_t level) {
  std::vector<std::string> parts;
  if (const auto* object = value.if_object()) {
    std::map<std::string_view, const json::value*> sorted;
    for (const auto& [key, member] : *object) sorted[key] = &member;
    for (const auto& [key, member] : sorted)
      parts.push_back(ascii_quote(key) + ": " + pretty_ascii(*member, level + 1));
    return enclosed('{', parts, '}', level);
  }
  if (const auto* array = value.if_array()) {
    for (const json::value& element : *array) parts.push_back(pretty_ascii(element, level + 1));
    return enclosed('[', parts, ']', level);
  }
  if (const auto* text = value.if_string()) return ascii_quote(*text);
  if (const auto* number = value.if_double()) return number_token(*number);
  return json::serialize(value);
}

std::string strict_json(const json::value& value) { return strictly(value); }
std::string strict_json(const json::object& object) { return strictly(object); }

Result<json::value> parse_value(std::string_view text) {
  json::parse_options options;
  options.max_depth = most_levels;
  boost::system::error_code problem;
  json::value value = json::parse(make_parsable(text), problem, {}, options);
  if (problem) return Error{"json.syntax", problem.message()};
  return value;
}

}  // namespace inbox_poller::schema

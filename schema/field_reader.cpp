#include "schema/field_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_depth = 256;

/// In the order of JsonKind.
constexpr std::array<std::string_view, 6> words_for_kinds = {"a string", "a number", "a boolean",
                                                             "null",     "an array", "an object"};

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

std::string snake_case(std::string_view camel) {
  std::string snake;
  for (const char c : camel) {
    if (is_capital(c)) snake += '_';
    snake += is_capital(c) ? static_cast<char>(c | 0x20) : c;
  }
  return snake;
}

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto decoded = decode_string(a);
  return decoded && decoded == decode_string(b);
}

/// Returns why a strict parser would refuse JSON that the scanner accepted; empty if it would not. Invalid UTF-8 cannot
/// occur: the object is the decoded text of a message.
std::string_view refusal(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (static_cast<unsigned char>(c) < 0x20) return "a raw control character in a string, which is not JSON";
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return "nested deeper than 256 levels";
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return {};
}

}  // namespace

JsonKind kind_of(std::string_view token) {
  switch (token.empty() ? 'n' : token.front()) {
    case '"': return JsonKind::string;
    case '{': return JsonKind::object;
    case '[': return JsonKind::array;
    case 't':
    case 'f': return JsonKind::boolean;
    case 'n': return JsonKind::null;
    default: return JsonKind::number;
  }
}

std::string unexpected(std::string_view expected, std::string_view token) {
  const std::string_view found = words_for_kinds[static_cast<std::size_t>(kind_of(token))];
  return "expected " + std::string(expected) + ", found " + std::string(found);
}

void FieldReader::fail(std::string_view name, std::string_view what) {
  if (!problem_) problem_ = path_ + std::string(name) + ": " + std::string(what);
}

void FieldReader::ignore(std::string_view name, std::string_view expected, std::string_view token) {
  ignored_ += (ignored_.empty() ? "" : "; ") + path_ + std::string(name) + ": " + unexpected(expected, token);
}

std::optional<std::string_view> FieldReader::token(std::string_view name, std::string_view also) {
  std::optional<std::string_view> found;
  std::string found_name;
  const auto look = [&](std::string_view spelled) {
    const auto value = find_member(object_, members_, spelled);
    if (!value) return;
    if (!found) {
      found = value;
      found_name = spelled;
    } else if (!same_value(*found, *value)) {
      fail(found_name, "says something else than '" + std::string(spelled) + "'; one of the two has to go");
    }
  };
  for (const std::string_view spelled : {name, also}) {
    if (spelled.empty()) continue;
    look(spelled);
    if (std::any_of(spelled.begin(), spelled.end(), is_capital)) look(snake_case(spelled));
  }
  return found;
}

std::optional<std::string_view> FieldReader::token_of_kind(JsonKind kind, Need need, std::string_view name,
                                                           std::string_view also) {
  const auto value = token(name, also);
  if (!value || kind_of(*value) == kind) return value;
  const auto expected = words_for_kinds[static_cast<std::size_t>(kind)];
  const bool keeps_null = kind == JsonKind::array || kind == JsonKind::object;
  if (*value == "null" && !keeps_null) return std::nullopt;
  if (need == Need::required)
    fail(name, unexpected(expected, *value));
  else
    ignore(name, expected, *value);
  return std::nullopt;
}

std::optional<std::string> FieldReader::optional_string(std::string_view name, std::string_view also) {
  const auto value = token_of_kind(JsonKind::string, Need::optional, name, also);
  return value ? decode_string(*value) : std::nullopt;
}

std::string FieldReader::required_string(std::string_view name, std::string_view also) {
  const auto value = token_of_kind(JsonKind::string, Need::required, name, also);
  if (!value) fail(name, "expected a string, found nothing");
  return value ? decode_string(*value).value_or("") : "";
}

std::string FieldReader::request_id(std::string_view name) {
  std::string id = required_string(name);
  if (!is_valid_request_id(id)) {
    fail(name, "expected 1 to 256 characters of [A-Za-z0-9@._:+=-], found " + std::to_string(id.size()) + " bytes" +
                   (id.empty() || id.size() > 256 ? "" : " with others among them"));
  }
  return id;
}

std::optional<bool> FieldReader::optional_boolean(std::string_view name, std::string_view also) {
  const auto value = token_of_kind(JsonKind::boolean, Need::optional, name, also);
  return value ? std::optional(*value == "true") : std::nullopt;
}

bool FieldReader::required_boolean(std::string_view name, std::string_view also) {
  const auto value = token_of_kind(JsonKind::boolean, Need::required, name, also);
  if (!value) fail(name, "expected true or false, found nothing");
  return value == "true";
}

long long FieldReader::integer(std::string_view name) {
  const std::string_view value = token_of_kind(JsonKind::number, Need::optional, name).value_or("0");
  long long number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::string FieldReader::raw(std::string_view name, JsonKind kind, std::string_view fallback) {
  const std::string_view value = token_of_kind(kind, Need::required, name).value_or(fallback);
  if (const auto why = refusal(value); !why.empty()) fail(name, why);
  return std::string(value);
}

}  // namespace inbox_poller::schema

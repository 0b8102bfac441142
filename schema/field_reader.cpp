#include "schema/field_reader.hpp"

#include <algorithm>
#include <charconv>

#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_depth = 256;

std::string snake_case(std::string_view camel) {
  std::string snake;
  for (const char c : camel) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital) snake += '_';
    snake += capital ? static_cast<char>(c | 0x20) : c;
  }
  return snake;
}

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto decoded = decode_string(a);
  return decoded && decoded == decode_string(b);
}

/// Why a strict parser would refuse JSON that our scanner accepted; empty when it would not. Invalid UTF-8 is no
/// question here: the object is the decoded text of an envelope.
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
    case '"':
      return JsonKind::string;
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

std::string_view describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "a boolean";
    case JsonKind::null:
      return "null";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "";
}

void FieldReader::fail(std::string_view name, std::string_view what) {
  if (!problem_) problem_ = path_ + std::string(name) + ": " + std::string(what);
}

std::optional<std::string_view> FieldReader::token(Names names) {
  std::optional<std::string_view> found;
  std::string found_name;
  const auto look_for = [&](const std::string& name) {
    const auto value = find_member(object_, members_, name);
    if (!value) return;
    if (!found) {
      found = value;
      found_name = name;
    } else if (!same_value(*found, *value)) {
      fail(found_name, "says something else than '" + name + "'; one of the two has to go");
    }
  };
  for (const std::string_view name : names) {
    const std::string snake = snake_case(name);
    look_for(std::string(name));
    if (snake != name) look_for(snake);
  }
  return found;
}

std::optional<std::string_view> FieldReader::token_of_kind(Names names, JsonKind kind, bool null_is_absent) {
  const auto value = token(names);
  if (!value) return std::nullopt;
  const JsonKind found = kind_of(*value);
  if (found == kind) return value;
  if (found != JsonKind::null || !null_is_absent) {
    fail(*names.begin(), "expected " + std::string(describe(kind)) + ", found " + std::string(describe(found)));
  }
  return std::nullopt;
}

std::optional<std::string> FieldReader::optional_string(Names names) {
  const auto value = token_of_kind(names, JsonKind::string, true);
  return value ? decode_string(*value) : std::nullopt;
}

std::string FieldReader::required_string(Names names) {
  const auto value = optional_string(names);
  if (!value) fail(*names.begin(), "expected a string, found nothing");
  return value.value_or("");
}

std::string FieldReader::request_id(Names names) {
  std::string id = required_string(names);
  if (!is_valid_request_id(id)) {
    fail(*names.begin(), "expected 1 to 256 characters of [A-Za-z0-9@._:+=-], found " + std::to_string(id.size()) +
                             " bytes" + (id.empty() || id.size() > 256 ? "" : " with others among them"));
  }
  return id;
}

std::optional<bool> FieldReader::optional_boolean(Names names) {
  const auto value = token_of_kind(names, JsonKind::boolean, true);
  if (!value) return std::nullopt;
  return *value == "true";
}

bool FieldReader::required_boolean(Names names) {
  const auto value = optional_boolean(names);
  if (!value) fail(*names.begin(), "expected true or false, found nothing");
  return value.value_or(false);
}

long long FieldReader::integer(Names names) {
  const auto value = token_of_kind(names, JsonKind::number, true);
  long long number = 0;
  if (value) std::from_chars(value->data(), value->data() + value->size(), number);
  return number;
}

std::string FieldReader::raw(Names names, JsonKind kind, std::string_view fallback) {
  const auto value = token_of_kind(names, kind, false);
  if (!value) return std::string(fallback);
  if (const auto why = refusal(*value); !why.empty()) fail(*names.begin(), why);
  return std::string(*value);
}

}  // namespace inbox_poller::schema

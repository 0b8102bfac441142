// Reads the fields of one scanned JSON object and remembers the first thing that is wrong with them, so that a decoder
// is a plain list of its fields. A name is given in camelCase and also found in snake_case ("requestId", "request_id");
// a name without capitals has one spelling. Where several spellings are present they must say the same. `null` counts as
// absent for strings, booleans and numbers. An optional field of another type counts as absent too, and is remembered.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

enum class JsonKind { string, number, boolean, null, array, object };

/// What a token that the scanner accepted is.
JsonKind kind_of(std::string_view token);

/// "expected …, found a number"
std::string unexpected(std::string_view expected, std::string_view token);

class FieldReader {
 public:
  /// Both must outlive the reader. `path` precedes every name in a problem: "members[2].".
  FieldReader(std::string_view object, const std::vector<MemberSpan>& members, std::string path = {})
      : object_(object), members_(members), path_(std::move(path)) {}

  /// The bytes of the value, under the name or another one that is `also` used; of duplicates the last.
  std::optional<std::string_view> token(std::string_view name, std::string_view also = {});

  std::optional<std::string> optional_string(std::string_view name, std::string_view also = {});
  /// The string, or "" when it is absent.
  std::string string(std::string_view name) { return optional_string(name).value_or(""); }
  /// The string; absent is a problem. May be empty.
  std::string required_string(std::string_view name, std::string_view also = {});
  /// A required string that is_valid_request_id.
  std::string request_id(std::string_view name = "requestId");

  /// Many fields as by string().
  struct Text {
    std::string_view name;
    std::string& value;
  };
  void strings(std::initializer_list<Text> fields) {
    for (const Text& field : fields) field.value = string(field.name);
  }

  std::optional<bool> optional_boolean(std::string_view name, std::string_view also = {});
  bool required_boolean(std::string_view name, std::string_view also = {});

  /// The whole part of a number, 0 when absent.
  long long integer(std::string_view name);

  /// The bytes of an array or object, or `fallback` when it is absent; another type is a problem. Checked to be readable
  /// by any strict JSON parser with a nesting limit of 256, since these bytes are parsed by rules and handed back to
  /// peers.
  std::string raw(std::string_view name, JsonKind kind, std::string_view fallback);

  /// Records a problem with a field, unless there is one already.
  void fail(std::string_view name, std::string_view what);
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  /// Counts a field as absent whose value has another type than `expected`.
  void ignore(std::string_view name, std::string_view expected, std::string_view token);
  /// The fields that counted as absent, for people: "color: expected a string, found a number"; empty when none did.
  [[nodiscard]] const std::string& ignored() const { return ignored_; }

 private:
  enum class Need { optional, required };
  std::optional<std::string_view> token_of_kind(JsonKind kind, Need need, std::string_view name, std::string_view also = {});

  std::string_view object_;
  const std::vector<MemberSpan>& members_;
  std::string path_;
  std::optional<std::string> problem_;
  std::string ignored_;
};

}  // namespace inbox_poller::schema

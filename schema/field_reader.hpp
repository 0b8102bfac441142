// A reader of one scanned JSON object that records the first problem, so that a decoder is a plain list of fields. A
// camelCase name is also found in snake_case ("requestId", "request_id"); different values are a problem. `null` counts
// as absent for strings, booleans and numbers. An optional field of another type counts as absent and is recorded.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

enum class JsonKind { string, number, boolean, null, array, object };

/// Returns the kind of a token that the scanner accepted.
JsonKind kind_of(std::string_view token);

/// Returns "expected …, found a number".
std::string unexpected(std::string_view expected, std::string_view token);

class FieldReader {
 public:
  /// Both arguments must outlive the reader. `path` precedes every name in a problem: "members[2].".
  FieldReader(std::string_view object, const std::vector<MemberSpan>& members, std::string path = {})
      : object_(object), members_(members), path_(std::move(path)) {}

  /// Returns the bytes of the value under `name` or `also`; the last duplicate counts.
  std::optional<std::string_view> token(std::string_view name, std::string_view also = {});

  std::optional<std::string> optional_string(std::string_view name, std::string_view also = {});
  /// Returns the string, or "" if absent.
  std::string string(std::string_view name) { return optional_string(name).value_or(""); }
  /// Returns the string, which may be empty; absence is a problem.
  std::string required_string(std::string_view name, std::string_view also = {});
  /// Returns a required string; one that is not is_valid_request_id is a problem.
  std::string request_id(std::string_view name = "requestId");

  /// A field that strings() reads.
  struct Text {
    std::string_view name;
    std::string& value;
  };
  void strings(std::initializer_list<Text> fields) {
    for (const Text& field : fields) field.value = string(field.name);
  }

  std::optional<bool> optional_boolean(std::string_view name, std::string_view also = {});
  bool required_boolean(std::string_view name, std::string_view also = {});

  /// Returns the whole part of a number, 0 if absent.
  long long integer(std::string_view name);

  /// Returns the bytes of an array or object, or `fallback` if absent; another type is a problem. Any strict JSON
  /// parser with 256 levels can read them, because rules parse these bytes and peers get them back.
  std::string raw(std::string_view name, JsonKind kind, std::string_view fallback);

  /// Records a problem with a field unless one is recorded already.
  void fail(std::string_view name, std::string_view what);
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  /// Records a field that counts as absent because of its type.
  void ignore(std::string_view name, std::string_view expected, std::string_view token);
  /// Returns the fields that counted as absent, for people: "color: expected a string, found a number"; empty if none
  /// did.
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

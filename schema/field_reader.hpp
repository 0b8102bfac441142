// Reads the fields of one scanned JSON object and remembers the first thing that is wrong with them, so that a decoder
// is a plain list of its fields. Private to schema/. A name is given in camelCase and also found in snake_case
// ("requestId", "request_id"); a name without capitals has one spelling. Where several spellings are present they must
// say the same. `null` counts as absent for strings and numbers.
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

/// "a string", "an object", …
std::string_view describe(JsonKind);

class FieldReader {
 public:
  using Names = std::initializer_list<std::string_view>;

  /// Both must outlive the reader. `path` precedes every name in a problem: "members[2].".
  FieldReader(std::string_view object, const std::vector<MemberSpan>& members, std::string path = {})
      : object_(object), members_(members), path_(std::move(path)) {}

  /// The bytes of the value; of duplicates the last.
  std::optional<std::string_view> token(Names names);

  std::optional<std::string> optional_string(Names names);
  /// The string, or "" when it is absent.
  std::string string(Names names) { return optional_string(names).value_or(""); }
  /// The string; absent is a problem. May be empty.
  std::string required_string(Names names);
  /// A required string that is_valid_request_id.
  std::string request_id(Names names = {"requestId"});

  std::optional<bool> optional_boolean(Names names);
  bool required_boolean(Names names);

  /// The whole part of a number, 0 when absent.
  long long integer(Names names);

  /// The bytes of an array or object, or `fallback` when it is absent; `null` is a problem. Also checked to be readable
  /// by any strict JSON parser with a nesting limit of 256, since these bytes are parsed by rules and handed back to
  /// peers.
  std::string raw(Names names, JsonKind kind, std::string_view fallback);

  /// Records a problem with a field, unless there is one already.
  void fail(std::string_view name, std::string_view what);
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  std::optional<std::string_view> token_of_kind(Names names, JsonKind kind, bool null_is_absent);

  std::string_view object_;
  const std::vector<MemberSpan>& members_;
  std::string path_;
  std::optional<std::string> problem_;
};

}  // namespace inbox_poller::schema

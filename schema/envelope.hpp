// One JSON object in its own file, as maildir mailboxes keep messages and tasks. Tolerant reader; changes keep the
// bytes of all other values. Written like the public stores: sorted keys, two spaces, ASCII. An id is a value and never
// a path. Source: docs/reference/mailboxes.md.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::schema {

class Envelope {
 public:
  /// Reads an object. The last duplicate key counts. Errors: "envelope.syntax" with the offset of the fault.
  static Result<Envelope> decode(std::string_view bytes);

  /// Returns a string member; empty if absent or of another type.
  [[nodiscard]] std::string text(std::string_view key) const;
  /// Returns a number; nothing if absent, of another type, or not finite.
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  /// Returns the value's own bytes; empty if absent.
  [[nodiscard]] std::string_view raw(std::string_view key) const;

  /// Returns true if the object has no members except these.
  [[nodiscard]] bool has_only(std::initializer_list<std::string_view> keys) const;

  Envelope& set(std::string_view key, const boost::json::value& value);
  Envelope& set(std::string_view key, std::string_view text);
  Envelope& set(std::string_view key, const char* text) { return set(key, std::string_view(text)); }
  Envelope& set(std::string_view key, const std::string& text) { return set(key, std::string_view(text)); }
  /// Sets a value in the caller's spelling.
  Envelope& set_raw(std::string_view key, std::string token);
  Envelope& drop(std::string_view key);

  /// Returns the file's bytes with a final newline.
  [[nodiscard]] std::string encode() const;
  /// Returns the object for programs and people. A value that a strict parser refuses (1e99999) becomes a string of its
  /// bytes.
  [[nodiscard]] boost::json::object object() const;

  bool operator==(const Envelope&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> members_;  // key and the value's own bytes
};

/// Returns what identifies two copies of one message: the id or, without an id, the contents.
std::string identity_of(const Envelope&);

/// Returns the id in a file name of either public store ("<digits>-ID.json", "msg_ID.json"); empty if it has none. A
/// hint: only the file's contents are reliable.
std::string id_hinted_by(std::string_view file_name);

/// Returns seconds since the Unix epoch as peers write them, with six decimals.
std::string seconds_token(long long epoch_ns);

/// Returns ASCII JSON with sorted keys and two spaces a level. The first line is not indented.
std::string pretty_ascii(const boost::json::value& value, std::size_t level = 0);

/// Returns JSON for any reader. Boost.JSON reads 1e999 as infinite and would write the invalid `Infinity`, so such a
/// value becomes the string "1e999". Every other value is as from json::serialize.
std::string strict_json(const boost::json::value& value);
std::string strict_json(const boost::json::object& object);

/// Parses JSON of at most 1,000 levels. Errors: "json.syntax".
Result<boost::json::value> parse_value(std::string_view text);

}  // namespace inbox_poller::schema

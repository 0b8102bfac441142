// One JSON object in a file of its own, as maildir mailboxes keep messages and tasks: read tolerantly, changed member
// by member, every value that is not changed in its own bytes. Written as the public stores write: sorted keys, two
// spaces, ASCII. What an id says is a value and never a path. Source: docs/reference/mailboxes.md.
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
  /// Of duplicate keys the last counts. Errors ("envelope.syntax") say where the text breaks.
  static Result<Envelope> decode(std::string_view bytes);

  /// A string member; empty when absent or something else.
  [[nodiscard]] std::string text(std::string_view key) const;
  /// A number; nothing when absent, something else, or not finite.
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  /// The value's own bytes; empty when absent.
  [[nodiscard]] std::string_view raw(std::string_view key) const;

  /// True when it has no other members than these.
  [[nodiscard]] bool has_only(std::initializer_list<std::string_view> keys) const;

  Envelope& set(std::string_view key, const boost::json::value& value);
  Envelope& set(std::string_view key, std::string_view text);
  Envelope& set(std::string_view key, const char* text) { return set(key, std::string_view(text)); }
  Envelope& set(std::string_view key, const std::string& text) { return set(key, std::string_view(text)); }
  /// In a spelling of the caller's own.
  Envelope& set_raw(std::string_view key, std::string token);
  Envelope& drop(std::string_view key);

  /// The file's bytes, a newline behind them.
  [[nodiscard]] std::string encode() const;
  /// For programs and people. A value that a strict parser refuses (1e99999) stands there as a string of its bytes.
  [[nodiscard]] boost::json::object object() const;

  bool operator==(const Envelope&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> members_;  // key and the value's own bytes
};

/// How two copies of one message are recognised: its id; without one, what it says.
std::string identity_of(const Envelope&);

/// The id that a file's name speaks of, in the spelling of either public store ("<digits>-ID.json", "msg_ID.json"). A
/// hint: who relies on it, reads the file. Empty when it speaks of none.
std::string id_hinted_by(std::string_view file_name);

/// Seconds since the Unix epoch as peers write them, with six digits behind the point.
std::string seconds_token(long long epoch_ns);

/// JSON in ASCII with sorted keys, two spaces a level; the first line begins where it is put.
std::string pretty_ascii(const boost::json::value& value, std::size_t level = 0);

/// Serialised for any reader. What Boost.JSON reads as an infinite number (1e999) and writes as `Infinity`, which is no
/// JSON, becomes the string "1e999"; every other value is what json::serialize makes of it.
std::string strict_json(const boost::json::value& value);
std::string strict_json(const boost::json::object& object);

/// The value of a text that may be JSON of any depth up to 1,000 levels. Errors: "json.syntax".
Result<boost::json::value> parse_value(std::string_view text);

}  // namespace inbox_poller::schema

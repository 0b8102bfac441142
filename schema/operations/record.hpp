// Records: what the answers of the daemon and of the commands consist of, as plain structs whose fields Boost.Describe
// names. A field has one of a few types, and its type and its name are all that the encoder, the decoder and the JSON
// Schema need to know:
//   Text                  a string; what is no valid UTF-8 in it, or no strict parser takes, is replaced when it is encoded
//   Verbatim              a string of which nothing is replaced
//   std::string           likewise, in a request: what is asked for is what was typed
//   OneOf<"a", "b">       a string that is one of few
//   bool, long long       an integer whose name ends in "_ms" is a time: milliseconds, since the Unix epoch where it is
//                         a moment, and 0 is none
//   std::vector<T>        a list
//   std::optional<T>      left out when there is nothing
//   a record              an object
//   boost::json::object, array, value   JSON that somebody else wrote
#pragma once

#include <algorithm>
#include <array>
#include <boost/describe/class.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::operations {

/// A string of a record. It does not become a std::string by itself: who shows it to a person says printable(), and who
/// wants the bytes says so.
struct Text {
  Text() = default;
  Text(std::string text) : bytes(std::move(text)) {}
  Text(std::string_view text) : bytes(text) {}
  Text(const char* text) : bytes(text) {}

  [[nodiscard]] bool empty() const { return bytes.empty(); }
  bool operator==(const Text&) const = default;
  std::strong_ordering operator<=>(const Text&) const = default;
  template <std::convertible_to<std::string_view> Other>
  friend bool operator==(const Text& text, const Other& other) {
    return std::string_view(text.bytes) == std::string_view(other);
  }

  std::string bytes;
};

/// The letters of a word as a template argument.
template <std::size_t Size>
struct Word {
  consteval Word(const char (&text)[Size]) { std::copy_n(text, Size, node_messages); }
  char node_messages[Size]{};
};

/// A string that is one of these, except where a newer daemon knows more.
template <Word... Words>
struct OneOf : Text {
  using Text::Text;
  static constexpr std::array<std::string_view, sizeof...(Words)> words{std::string_view(Words.node_messages)...};
};

/// A string that goes on exactly as it is: JSON of ours, or text that was made valid where it was put together.
struct Verbatim : Text {
  using Text::Text;
};

using Texts = std::vector<Text>;

inline Texts texts_of(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

/// A count, of whatever integer type it is kept in, as a record's.
constexpr long long number_of(std::integral auto count) { return static_cast<long long>(count); }

}  // namespace inbox_poller::operations

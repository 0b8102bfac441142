// A scanner that finds the bounds of JSON values without building them. It allows changing five bytes in a peer's file,
// and returning a tool's input exactly as written (a DOM loses 30-digit numbers and `1e400`). All decoders use it too,
// so keys, decisions, answers and edits share one reading of the bytes. Boost.JSON refuses lone surrogates, numbers
// like 1e99999999999 and deep nesting, all of which JavaScript accepts. Accepts RFC 8259 and three deviations in
// strings that peers write: lone surrogate escapes, invalid UTF-8, raw control characters. One pass without recursion;
// only memory limits the depth.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::schema {

/// Half-open byte range [begin, end) in the scanned text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  [[nodiscard]] std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
  bool operator==(const Span&) const = default;
};

/// One member of an object: the key token (with its quotes) and the value.
struct MemberSpan {
  Span key;
  Span value;
};

/// The reason and place of a scan's end; `offset` in bytes from the start of the text.
struct ScanProblem {
  std::size_t offset = 0;
  std::string what;
};

struct ArrayScan {
  Span array;                          // from '[' past ']' (or to the problem)
  std::vector<Span> elements;          // complete elements, also those before a problem
  std::optional<ScanProblem> problem;  // empty if the whole text is one well-formed array
};

/// Whether a text begins with an array, or after an element of an array that began before the text.
enum class ArrayFrom { beginning, element };

/// Scans a text that is one JSON array (leading BOM and white space, trailing white space allowed), or the rest of one.
/// A comma after `most` elements is a problem, which limits the memory for a hostile text.
ArrayScan scan_array(std::string_view text, ArrayFrom from = ArrayFrom::beginning,
                     std::size_t most = std::numeric_limits<std::size_t>::max());

/// Returns the text without the elements whose index in `dropped` is true, and without their commas. `elements` and
/// `array` are of this text. Every other byte stays; an array that becomes empty is written `[]`.
std::string without_elements(std::string_view text, Span array, const std::vector<Span>& elements,
                             const std::vector<bool>& dropped);

/// Scans one object (white space around it allowed). Members are in file order. Duplicate keys all appear; JavaScript
/// uses the last one.
Result<std::vector<MemberSpan>> scan_object(std::string_view text);

struct ObjectScan {
  std::vector<MemberSpan> members;     // complete members, also those before a problem
  std::optional<ScanProblem> problem;  // empty if the whole text is one well-formed object
};

/// Scans one object; returns its complete members even if the object is broken, and the place of the fault.
ObjectScan scan_members(std::string_view text);

/// Returns the bytes of the member `key` (ASCII) of the object in `text`; the last duplicate counts. Empty if absent or
/// not an object.
std::optional<std::string_view> find_member(std::string_view text, std::string_view key);

std::optional<std::string_view> find_member(std::string_view text, const std::vector<MemberSpan>& members,
                                            std::string_view key);

/// Returns the value of a JSON string token (with quotes): escapes resolved, lone surrogates and invalid UTF-8 replaced
/// by U+FFFD. Empty if the token is not a string.
std::optional<std::string> decode_string(std::string_view token);

/// Returns the same without a copy if nothing must be resolved: a view of the token, else of `room`, which gets the
/// text.
std::optional<std::string_view> decode_string(std::string_view token, std::string& room);

/// Returns the text for a strict parser: lone surrogate escapes become `\ufffd`, invalid UTF-8 becomes U+FFFD. Lengths
/// change: for parsing, never for writing back.
std::string make_parsable(std::string_view json);

/// Returns the value as a JSON string token with quotes, spelled as by JSON.stringify (non-ASCII and '/' unescaped).
std::string quote(std::string_view value);

}  // namespace inbox_poller::schema

// A scanner that finds where JSON values begin and end without building them. This is what lets us change five bytes in
// a peer's file and leave every other byte alone, and hand a tool's input back exactly as it was written (a 30-digit
// number or `1e400` does not survive a DOM). It is also what our decoders read with: what was keyed, decided on, echoed
// and spliced is then one reading of the same bytes, and neither a lone surrogate, a number like 1e99999999999 nor a
// deep foreign field (all refused by Boost.JSON, none by JavaScript) makes a message unreadable. It checks the whole
// grammar of RFC 8259 with three tolerances inside strings, because real peers write them: lone surrogate escapes,
// invalid UTF-8, raw control characters. One pass, no recursion: depth is bounded by memory only.
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

/// Where scanning stopped and why; `offset` is in bytes from the start of the text.
struct ScanProblem {
  std::size_t offset = 0;
  std::string what;
};

struct ArrayScan {
  Span array;                          // from '[' to behind ']' (or to the problem)
  std::vector<Span> elements;          // complete elements, also those before a problem
  std::optional<ScanProblem> problem;  // empty when the whole text is one well-formed array
};

/// Where a text begins: with the array, or behind an element of an array whose beginning is not in the text.
enum class ArrayFrom { beginning, element };

/// Scans a text that should be one JSON array (leading BOM and white space, trailing white space allowed), or the rest
/// of one. The comma behind the `most`-th element is a problem: a hostile text takes no more memory than these.
ArrayScan scan_array(std::string_view text, ArrayFrom from = ArrayFrom::beginning,
                     std::size_t most = std::numeric_limits<std::size_t>::max());

/// The text without the elements whose place in `dropped` is true, and without the commas that belonged to them.
/// `elements` and `array` are of this text; every other byte stays, except that an array that becomes empty is written
/// `[]`.
std::string without_elements(std::string_view text, Span array, const std::vector<Span>& elements,
                             const std::vector<bool>& dropped);

/// Scans one object (white space around it allowed). Members are in file order; duplicate keys all appear, and the last
/// one is the one JavaScript would use.
Result<std::vector<MemberSpan>> scan_object(std::string_view text);

struct ObjectScan {
  std::vector<MemberSpan> members;     // complete members, also those before a problem
  std::optional<ScanProblem> problem;  // empty when the whole text is one well-formed object
};

/// The same for whoever has a use for the beginning of a broken object, or for the place where it breaks.
ObjectScan scan_members(std::string_view text);

/// The raw bytes of the member `key` (ASCII) of the object in `text`; of duplicates the last. Empty when absent or not
/// an object.
std::optional<std::string_view> find_member(std::string_view text, std::string_view key);

std::optional<std::string_view> find_member(std::string_view text, const std::vector<MemberSpan>& members,
                                            std::string_view key);

/// The value of a JSON string token (with quotes): escapes resolved, lone surrogates and invalid UTF-8 replaced by
/// U+FFFD. Empty when the token is not a string.
std::optional<std::string> decode_string(std::string_view token);

/// The same without a copy where there is nothing to resolve: a view of the token, or else of `room`, where the text is
/// put then.
std::optional<std::string_view> decode_string(std::string_view token, std::string& room);

/// The same text with everything replaced that JavaScript accepts and a strict parser refuses: lone surrogate escapes
/// become `\ufffd`, invalid UTF-8 becomes U+FFFD. Lengths change: for parsing, never for writing back.
std::string make_parsable(std::string_view json);

/// The value as a JSON string token, quotes included, spelled as JSON.stringify does (non-ASCII and '/' unescaped).
std::string quote(std::string_view value);

}  // namespace inbox_poller::schema

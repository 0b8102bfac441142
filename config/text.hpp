// Helpers for the texts of rules. Pure; no rule is decided here.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// Returns true if `text` matches `pattern`. `*` stands for any run of bytes, even an empty one, and every other byte
/// for itself. With `question_mark`, `?` stands for exactly one byte.
bool wildcard_match(std::string_view pattern, std::string_view text, bool question_mark = false);

/// Returns true if one text could match both, which may both have `*` and `?`.
bool wildcards_overlap(std::string_view a, std::string_view b);

enum class LineBreaks { refused, accepted };

/// Returns the first character that a reader cannot see or that changes the reading direction: control characters,
/// spaces other than the plain one, zero-width and bidirectional marks, invalid UTF-8 (and U+FFFD, its replacement).
/// Tab and newline pass if accepted.
std::optional<std::string> find_odd_character(std::string_view text, LineBreaks);

/// Returns the text after the last slash.
inline std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <std::size_t N>
bool is_one_of(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string to_lower(std::string_view text);  // ASCII only

inline constexpr std::string_view any_blank = " \t\r\n";
/// Returns the text without outer blanks and line breaks.
std::string_view trimmed(std::string_view text);

}  // namespace inbox_poller::config

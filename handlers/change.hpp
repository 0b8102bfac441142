// The lines that an edit removes and adds. They come from the tool's input alone, which is what will run; no file is
// opened. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::handlers {

/// A text and the text that replaces it.
struct Replacement {
  std::string before;
  std::string after;
};

/// Returns the changes of Edit, MultiEdit or Write. Empty for every other tool, and for ambiguous input: a value that
/// is not a string, or a member that occurs twice.
std::optional<std::vector<Replacement>> changes_of(std::string_view tool, std::string_view input);

struct ChangedLine {
  char sign;  // ' ' unchanged, '-' removed, '+' added
  std::string_view text;
};

/// Returns every line of both texts without its newline, unchanged lines once. If the texts are too long to compare,
/// all lines between their common beginning and end are removed and added. The views are valid as long as the
/// replacement.
std::vector<ChangedLine> lines_of(const Replacement&);

/// Returns the lines for people, with odd characters escaped, each after `margin` and its sign.
std::string change_text(const Replacement&, std::string_view margin);

/// Returns the counts of added and removed lines: "+3 -1".
std::string count_of(const std::vector<Replacement>&);

}  // namespace inbox_poller::handlers

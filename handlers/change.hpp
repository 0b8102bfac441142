// What an edit would change, as lines that go and lines that come: told from the tool's input alone, so it is what
// will be carried out, and no file is opened for it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::handlers {

/// One text in place of another.
struct Replacement {
  std::string before;
  std::string after;
};

/// What the input of Edit, MultiEdit or Write changes. Empty for every other tool, and where the input does not say it
/// beyond doubt: a text that is none, or a member that stands there twice.
std::optional<std::vector<Replacement>> changes_of(std::string_view tool, std::string_view input);

struct ChangedLine {
  char sign;  // ' ' stays, '-' goes, '+' comes
  std::string_view text;
};

/// Every line of both texts without its newline, those that stay once; a view of them. Where the texts are too long to be compared line by
/// line, all between what they begin and end with goes and comes.
std::vector<ChangedLine> lines_of(const Replacement&);

/// The same as lines for a person, odd characters spelled out, each behind `margin` and its sign.
std::string change_text(const Replacement&, std::string_view margin);

/// "+3 -1"
std::string count_of(const std::vector<Replacement>&);

}  // namespace inbox_poller::handlers

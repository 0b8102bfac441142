// What a terminal shows of an interactive client: whether its composer is there and empty, what stands in it, or what
// is in front of it. Text that others chose is on the same screen, so only the frame counts that nobody but the client
// can draw: two rules over the whole width, the prompt's mark in the first two columns between them, below them nothing
// but indented hints. Whatever is not recognised is `unknown`. Source: screens of 2.1.50, 2.1.329 and 2.1.330
// (tests/fixtures/screens), docs/adr/0023.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/names.hpp"

namespace inbox_poller::schema {

/// A pane's visible part as tmux tells it.
struct Screen {
  std::string text;  // `capture-pane -p -e`: the rows, each with its newline, attributes as SGR sequences
  int width = 0;
  int cursor_column = 0;  // from 0
  int cursor_row = 0;
};

enum class ScreenKind {
  empty_prompt,  // between turns, nothing is typed
  draft,         // between turns, something stands in the composer
  running,       // a turn is under way
  dialog,        // asks something; Enter would answer
  menu,          // lists something; Enter would choose
  transcript,    // looks back; the composer is not there
  unknown,
};
BOOST_DESCRIBE_ENUM(ScreenKind, empty_prompt, draft, running, dialog, menu, transcript, unknown)
inline std::string_view to_string(ScreenKind kind) { return schema::name_of(kind); }

struct ScreenReading {
  ScreenKind kind = ScreenKind::unknown;
  std::string typed;           // what stands in the composer, without its spaces; also during a turn
  bool at_end = false;         // its cursor stands behind that
  bool at_line_start = false;  // its cursor stands at the beginning of a row other than the first
  std::size_t frame = 0;       // the row in which the composer's frame begins
};

/// Total.
ScreenReading read_screen(const Screen&);

/// The rows without their attributes and the blanks at their ends.
std::vector<std::string> screen_rows(std::string_view text);

/// True when what stands in the composer is this text and nothing else: as written, or as the client's sign for one
/// pasted text with as many line ends. `rest_of`: also when only a first part of it is left.
bool holds_exactly(const ScreenReading&, std::string_view text);
bool holds_rest_of(const ScreenReading&, std::string_view text);

}  // namespace inbox_poller::schema

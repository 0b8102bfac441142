// The screen of an interactive client: whether its composer is visible and empty, its text, or what covers it. Other
// people's text is on the same screen, so only a frame that the client alone can draw counts. The frame is two rules
// over the whole width, the prompt's mark in the first two columns between them, and only indented hints below. Any
// other screen is `unknown`. Source: screens of 2.1.50, 2.1.329 and 2.1.330 (tests/fixtures/screens), docs/adr/0023.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/names.hpp"

namespace inbox_poller::schema {

/// A pane's visible part as tmux reports it.
struct Screen {
  std::string text;  // `capture-pane -p -e`: the rows, each with its newline, attributes as SGR sequences
  int width = 0;
  int cursor_column = 0;  // from 0
  int cursor_row = 0;
};

enum class ScreenKind {
  empty_prompt,  // between turns, nothing typed
  draft,         // between turns, text in the composer
  running,       // a turn is running
  dialog,        // a question, which Enter would answer
  menu,          // a list, from which Enter would choose
  transcript,    // the history; no composer
  unknown,
};
BOOST_DESCRIBE_ENUM(ScreenKind, empty_prompt, draft, running, dialog, menu, transcript, unknown)
inline std::string_view to_string(ScreenKind kind) { return schema::name_of(kind); }

struct ScreenReading {
  ScreenKind kind = ScreenKind::unknown;
  std::string typed;           // the composer's text without its spaces; also during a turn
  bool at_end = false;         // the composer's cursor follows the text
  bool at_line_start = false;  // the composer's cursor is at the beginning of a row after the first
  std::size_t frame = 0;       // first row of the composer's frame
};

/// Reads a screen. Total.
ScreenReading read_screen(const Screen&);

/// Returns the rows without attributes and trailing blanks.
std::vector<std::string> screen_rows(std::string_view text);

/// Returns true if the composer has this text and nothing else: as written, or as the client's sign for one pasted text
/// with as many line ends. holds_rest_of() also accepts a beginning of the text.
bool holds_exactly(const ScreenReading&, std::string_view text);
bool holds_rest_of(const ScreenReading&, std::string_view text);

}  // namespace inbox_poller::schema

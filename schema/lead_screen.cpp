#include "schema/lead_screen.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::string_view mark = "\u276f";
constexpr std::string_view hard_blank = "\u00a0";
constexpr std::string_view rule = "\u2500";
constexpr std::size_t indent = 2;  // of the typed text, and of the hints below it

struct Look {
  bool dim = false;
  bool inverse = false;
  bool colored = false;  // not in the terminal's own foreground
};

struct Cell {
  std::string_view text;
  Look look;
};
using Row = std::vector<Cell>;

bool shows_nothing(const Cell& cell) { return cell.text == " " || cell.text == hard_blank; }

/// Applies the parameters of one SGR sequence. The parameters of a color are not attributes.
void apply(std::string_view parameters, Look& look) {
  std::vector<int> numbers;
  while (true) {
    const auto word = parameters.substr(0, parameters.find_first_of(";:"));
    int number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    numbers.push_back(number);
    if (word.size() == parameters.size()) break;
    parameters.remove_prefix(word.size() + 1);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const int number = numbers[i];
    if (number == 0) look = {};
    if (number == 2) look.dim = true;
    if (number == 22) look.dim = false;
    if (number == 7) look.inverse = true;
    if (number == 27) look.inverse = false;
    if (number == 39) look.colored = false;
    if ((number >= 30 && number <= 38) || (number >= 90 && number <= 97)) look.colored = true;
    if ((number == 38 || number == 48 || number == 58) && i + 1 < numbers.size()) i += numbers[i + 1] == 5 ? 2 : 4;
  }
}

/// Removes an escape sequence from the text; never more than the rest of its row.
void take_escape(std::string_view& text, Look& look) {
  const auto row = text.substr(0, text.find('\n'));
  std::size_t end = 1;
  if (row.substr(end).starts_with(']')) {  // a link: up to its terminator
    const auto terminator = row.find("\x1b\\", end);
    end = terminator == std::string_view::npos ? row.size() : terminator + 2;
  } else if (row.substr(end).starts_with('[')) {
    end = std::min(row.find_first_not_of("0123456789;:?", end + 1), row.size());
    if (end < row.size() && row[end] == 'm') apply(row.substr(2, end - 2), look);
    if (end < row.size()) ++end;
  }
  text.remove_prefix(end);
}

std::vector<Row> parse(std::string_view text) {
  std::vector<Row> rows;
  Row row;
  Look look;  // continues after the end of a row
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\x1b') {
      take_escape(text, look);
      continue;
    }
    if (c == '\n') {
      // The blanks at a row's end may be missing, including the cursor's.
      if (look.inverse && (row.empty() || !row.back().look.inverse)) row.push_back({" ", look});
      rows.push_back(std::move(row));
      row = {};
    }
    const auto length = code_point_at(text, 0).length;
    if (static_cast<unsigned char>(c) >= 0x20 && c != '\x7f') row.push_back({text.substr(0, length), look});
    text.remove_prefix(length);
  }
  if (!row.empty()) rows.push_back(std::move(row));
  return rows;
}

std::string text_of(const Row& row) {
  std::string text;
  for (const auto& cell : row) text += cell.text;
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool is_rule(const Row& row, int width) {
  return width > 0 && row.size() == static_cast<std::size_t>(width) &&
         std::all_of(row.begin(), row.end(), [](const Cell& cell) { return cell.text == rule; });
}

bool is_indented(const Row& row) {
  const auto count = std::min(indent, row.size());
  return std::all_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count), shows_nothing);
}

/// Matches "  ❯ ...": a choice with the arrow keys.
bool is_choice(const Row& row) {
  const auto first = std::find_if_not(row.begin(), row.end(), shows_nothing);
  return first != row.begin() && first != row.end() && first->text == mark;
}

/// Matches "✻ Doing something…".
bool is_spinner(const Row& row) {
  static constexpr std::array<std::string_view, 7> signs = {"\u00b7", "\u2722", "\u2733", "\u2736",
                                                            "\u273b", "\u273d", "*"};
  return row.size() > 2 && row[0].look.colored && shows_nothing(row[1]) &&
         std::find(signs.begin(), signs.end(), row[0].text) != signs.end() &&
         text_of(row).find("\u2026") != std::string::npos;
}

/// The rows of the composer's two rules.
struct Frame {
  std::size_t top = 0;
  std::size_t bottom = 0;
};

bool find_frame(const std::vector<Row>& rows, int width, Frame& frame) {
  const auto is_one = [&](const Row& row) { return is_rule(row, width); };
  const auto bottom = std::find_if(rows.rbegin(), rows.rend(), is_one);
  if (bottom == rows.rend()) return false;
  const auto top = std::find_if(bottom + 1, rows.rend(), is_one);
  if (top == rows.rend()) return false;
  frame.top = static_cast<std::size_t>(rows.rend() - top) - 1;
  frame.bottom = static_cast<std::size_t>(rows.rend() - bottom) - 1;
  if (frame.bottom - frame.top < 2) return false;
  const Row& prompt = rows[frame.top + 1];
  if (prompt.size() < indent || prompt[0].text != mark || prompt[1].text != hard_blank || prompt[0].look.inverse)
    return false;
  for (std::size_t i = frame.top + 2; i < frame.bottom; ++i)
    if (!is_indented(rows[i])) return false;
  for (std::size_t i = frame.bottom + 1; i < rows.size(); ++i)
    if (!is_indented(rows[i]) || is_choice(rows[i])) return false;
  return true;
}

bool contains(const std::vector<Row>& rows, std::size_t from, std::initializer_list<std::string_view> words) {
  for (std::size_t i = from; i < rows.size(); ++i) {
    const auto text = text_of(rows[i]);
    for (const auto word : words)
      if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

/// Returns what covers the composer, for a person to read.
ScreenKind in_front(const std::vector<Row>& rows) {
  const auto from = rows.size() - std::min<std::size_t>(rows.size(), 12);
  if (contains(rows, from, {"Showing detailed transcript"})) return ScreenKind::transcript;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_choice(rows[i]))
      return contains(rows, i, {"Enter to", "to navigate", "to select"}) ? ScreenKind::menu : ScreenKind::dialog;
  return contains(rows, from, {"Esc to cancel"}) ? ScreenKind::dialog : ScreenKind::unknown;
}

bool is_running(const std::vector<Row>& rows, const Frame& frame) {
  const auto& look = rows[frame.top + 1][0].look;
  if (look.colored || look.dim || contains(rows, frame.bottom + 1, {"esc to interrupt"})) return true;
  return std::any_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(frame.top), is_spinner);
}

/// 2.1.50 takes Enter for a part of the paste until this sign is gone. The sign may run downwards.
bool is_pasting(const std::vector<Row>& rows, const Frame& frame) {
  std::string hints;
  for (std::size_t i = frame.bottom + 1; i < rows.size(); ++i)
    for (const auto& cell : rows[i])
      if (!shows_nothing(cell)) hints += cell.text;
  return hints.find("Pastingtext") != std::string::npos;
}

/// Returns true if a list of choices is right above the composer.
bool has_choice_above(const std::vector<Row>& rows, const Frame& frame) {
  for (std::size_t i = frame.top; i-- > 0 && !text_of(rows[i]).empty();)
    if (is_choice(rows[i])) return true;
  return false;
}

/// Returns true for the client's own suggestion: dim, except for the cursor on its first character.
bool is_suggestion(const Row& typed) {
  bool dim = false;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (typed[i].look.inverse && i > 0) return false;
    if (shows_nothing(typed[i]) || typed[i].look.inverse) continue;
    if (!typed[i].look.dim) return false;
    dim = true;
  }
  return dim || std::all_of(typed.begin(), typed.end(), shows_nothing);
}

std::string without_spaces(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const auto length = code_point_at(text, 0).length;
    const auto one = text.substr(0, length);
    if (one != hard_blank && one.find_first_of(" \t\r\n") == std::string_view::npos) kept += one;
    text.remove_prefix(length);
  }
  return kept;
}

/// Matches "[Pasted text #3 +12 lines]" without its spaces, if the text has as many line ends.
bool is_sign_for(std::string_view typed, std::string_view text) {
  constexpr std::string_view head = "[Pastedtext#";
  if (!typed.starts_with(head) || !typed.ends_with(']')) return false;
  typed.remove_prefix(head.size());
  typed.remove_suffix(1);
  const auto digits = std::min(typed.find_first_not_of("0123456789"), typed.size());
  if (digits == 0) return false;
  typed.remove_prefix(digits);
  const auto line_ends = std::count(text.begin(), text.end(), '\n');
  return typed == (line_ends == 0 ? "" : "+" + std::to_string(line_ends) + "lines");
}

}  // namespace

std::vector<std::string> screen_rows(std::string_view text) {
  std::vector<std::string> rows;
  for (const auto& row : parse(text)) rows.push_back(text_of(row));
  return rows;
}

ScreenReading read_screen(const Screen& screen) {
  auto rows = parse(screen.text);
  while (!rows.empty() && text_of(rows.back()).empty()) rows.pop_back();
  ScreenReading reading;
  Frame frame;
  if (!find_frame(rows, screen.width, frame)) {
    reading.kind = in_front(rows);
    return reading;
  }
  reading.frame = frame.top;
  Row typed;
  std::size_t cursors = 0;
  for (std::size_t i = frame.top + 1; i < frame.bottom; ++i) {
    for (std::size_t column = indent; column < rows[i].size(); ++column) {
      const auto& cell = rows[i][column];
      typed.push_back(cell);
      if (!shows_nothing(cell)) reading.at_end = false;
      if (!cell.look.inverse) continue;
      ++cursors;
      reading.at_end = shows_nothing(cell);
      reading.at_line_start = i > frame.top + 1 && column == indent;
    }
  }
  reading.at_end = reading.at_end && cursors == 1;
  // The client draws its own cursor. The terminal's cursor is there too, or parked below everything (2.1.50).
  const auto cursor = static_cast<std::size_t>(std::max(screen.cursor_row, 0));
  if (cursor <= frame.top || cursor == frame.bottom || (cursor > frame.bottom && cursor < rows.size())) return reading;
  const bool empty = frame.bottom - frame.top == 2 && cursors <= 1 && is_suggestion(typed) &&
                     (cursor > frame.bottom || screen.cursor_column == static_cast<int>(indent));
  if (!empty)
    for (const auto& cell : typed)
      if (!shows_nothing(cell)) reading.typed += cell.text;
  if (is_pasting(rows, frame)) return reading;
  if (is_running(rows, frame)) {
    reading.kind = ScreenKind::running;
  } else if (has_choice_above(rows, frame)) {
    reading.kind = ScreenKind::menu;
  } else {
    reading.kind = empty ? ScreenKind::empty_prompt : ScreenKind::draft;
  }
  return reading;
}

bool holds_exactly(const ScreenReading& reading, std::string_view text) {
  return !reading.typed.empty() && (reading.typed == without_spaces(text) || is_sign_for(reading.typed, text));
}

bool holds_rest_of(const ScreenReading& reading, std::string_view text) {
  return holds_exactly(reading, text) || (!reading.typed.empty() && without_spaces(text).starts_with(reading.typed));
}

}  // namespace inbox_poller::schema

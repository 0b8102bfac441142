#include "tests/sim/terminal.hpp"

#include <algorithm>

namespace inbox_poller::sim {
using namespace inbox_poller::poller;

namespace {

constexpr int width = 200;
constexpr auto shown_as_sign = 3;  // line ends of a paste

std::string rule() {
  std::string row;
  for (int i = 0; i < width; ++i) row += "\u2500";
  return row + "\n";
}

std::string shown(const Terminal::Piece& piece) {
  const auto line_ends = std::count(piece.text.begin(), piece.text.end(), '\n');
  return line_ends < shown_as_sign ? piece.text : "[Pasted text #1 +" + std::to_string(line_ends) + " lines]";
}

}  // namespace

std::string Terminal::text() const {
  std::string all;
  for (const auto& piece : typed) all += piece.text;
  return all;
}

bool Terminal::holds_paste_only() const { return !typed.empty() && std::ranges::all_of(typed, &Piece::is_pasted); }

Front Terminal::front() const {
  Front front;
  front.pane = {id, {900, "server"}, {901, "shell"}, false};
  front.command = shows == Shows::shell ? "bash" : "claude";
  std::string rows = "turn " + std::to_string(turns) + "\n";
  if (shows == Shows::shell) rows += "$ \n";
  if (shows == Shows::dialog) rows += "Do you want to proceed?\n  \u276f 1. Yes\n    2. No\n  Esc to cancel\n";
  int column = 2;
  if (shows == Shows::composer || shows == Shows::running) {
    const bool runs = shows == Shows::running;
    rows += rule() + (runs ? "\x1b[2m\u276f\x1b[22m" : "\u276f") + "\u00a0";
    for (const auto& piece : typed) {
      rows += shown(piece);
      column += static_cast<int>(shown(piece).size());  // all of it is ASCII
    }
    rows += "\x1b[7m \x1b[0m\n" + rule() + (runs ? "  esc to interrupt\n" : "  ? for shortcuts\n");
  }
  front.screen = {rows, width, column, 2};
  return front;
}

/// Rows above the composer may scroll.
bool Terminal::is_as_seen(const Front& seen) const {
  const auto held = [](const std::string& rows) { return rows.substr(rows.find('\n')); };
  const auto now = front();
  return now.command == seen.command && held(now.screen.text) == held(seen.screen.text);
}

Typed Terminal::paste(const Front& seen, const std::string& text) {
  if (!is_as_seen(seen)) return {Typed::How::changed, "the screen has changed"};
  if (shows != Shows::composer || !typed.empty()) on_violation("the daemon pasted into what is no empty composer");
  typed.push_back({text, true});
  return {};
}

Typed Terminal::press(const Front& seen, Key key) {
  if (!is_as_seen(seen)) return {Typed::How::changed, "the screen has changed"};
  if (shows != Shows::composer || !holds_paste_only()) {
    on_violation("the daemon pressed a key where more than its own paste stood: " + text());
    return {};
  }
  if (key == Key::enter)
    on_enter();
  else
    typed.pop_back();
  return {};
}

}  // namespace inbox_poller::sim

#include "poller/cli/top/curses_screen.hpp"

#ifndef INBOX_POLLER_CURSES

namespace inbox_poller::poller::cli {

Result<std::unique_ptr<CursesScreen>> CursesScreen::open(bool /*colors*/) {
  return Error{"curses.missing",
               "this build is without the console: it was made where ncurses (Debian: libncurses-dev) was missing; "
               "`inbox-poller pending` shows the requests, `approve` and `deny` answer them"};
}

}  // namespace inbox_poller::poller::cli

#else

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>

#include "poller/cli/console.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr int paste_begins = KEY_MAX - 2, paste_ends = KEY_MAX - 1;
#ifdef BUTTON5_PRESSED
constexpr mmask_t wheel_down = BUTTON5_PRESSED;
#else
constexpr mmask_t wheel_down = 0;  // the ncurses of macOS
#endif
constexpr short good_pair = 1, warn_pair = 2, bad_pair = 3;

std::string utf8_of(wint_t value) {
  std::string text;
  const auto point = static_cast<unsigned long>(value);
  const auto add = [&](unsigned long byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0U | (point >> 6U));
    add(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    add(0xE0U | (point >> 12U));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  } else {
    add(0xF0U | (point >> 18U));
    add(0x80U | ((point >> 12U) & 0x3FU));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  }
  return text;
}

class Curses final : public CursesScreen {
 public:
  explicit Curses(SCREEN* screen, bool colors) : screen_(screen) {
    ::set_term(screen_);
    ::cbreak();
    ::noecho();
    ::nonl();
    ::curs_set(0);
    ::keypad(stdscr, TRUE);
    ::nodelay(stdscr, TRUE);
    ::set_escdelay(25);
    ::define_key("\x1b[200~", paste_begins);
    ::define_key("\x1b[201~", paste_ends);
    if (colors && ::has_colors()) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(good_pair, COLOR_GREEN, -1);
      ::init_pair(warn_pair, COLOR_YELLOW, -1);
      ::init_pair(bad_pair, COLOR_RED, -1);
      colored_ = true;
    }
    ::mouseinterval(0);  // a press counts at once
    ::mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | wheel_down, nullptr);
    brackets(true);
  }
  Curses(const Curses&) = delete;
  Curses& operator=(const Curses&) = delete;
  ~Curses() override {
    leave();
    ::delscreen(screen_);
  }

  [[nodiscard]] ScreenSize size() const override {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
      return {getmaxy(stdscr), getmaxx(stdscr)};
    return {size.ws_row, size.ws_col};
  }

  void draw(const std::vector<Top::Line>& lines) override {
    if (away_) brackets(true);
    away_ = false;
    ::werase(stdscr);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int end = lines[i].beside.empty() ? getmaxx(stdscr) : lines[i].beside_at - 1;
      ::wattrset(stdscr, static_cast<int>(attributes(lines[i].style) | color(lines[i].tint)));
      mvwaddstr(stdscr, static_cast<int>(i), 0, lines[i].text.c_str());
      if (lines[i].style == Top::Style::selected || lines[i].style == Top::Style::head)
        for (int at = getcurx(stdscr); getcury(stdscr) == static_cast<int>(i) && at < end; ++at) ::waddch(stdscr, ' ');
      ::wattrset(stdscr, 0);
      if (!lines[i].beside.empty()) mvwaddstr(stdscr, static_cast<int>(i), lines[i].beside_at, lines[i].beside.c_str());
    }
    ::wrefresh(stdscr);
  }

  std::vector<TopKey> keys() override {
    std::vector<TopKey> keys;
    wint_t value = 0;
    for (int got = ::wget_wch(stdscr, &value); got != ERR; got = ::wget_wch(stdscr, &value)) {
      const bool escapes = got != KEY_CODE_YES && value == 27 && !pastes_;
      // A key with Alt must not count as Escape followed by that key.
      if (escapes && ::wget_wch(stdscr, &value) != ERR && value != 27) continue;
      take(got == KEY_CODE_YES, escapes ? 27 : value, keys);
    }
    return keys;
  }

  void drop_typed() override { ::flushinp(); }

  void resized() override {
    const ScreenSize now = size();
    ::resizeterm(now.rows, now.columns);
    ::clearok(curscr, TRUE);
  }

  void leave() override {
    if (away_) return;
    away_ = true;
    drop_typed();
    brackets(false);
    ::endwin();
  }

 private:
  /// Makes the terminal mark pasted text.
  static void brackets(bool on) {
    std::fputs(on ? "\x1b[?2004h" : "\x1b[?2004l", stdout);
    std::fflush(stdout);
  }

  [[nodiscard]] attr_t attributes(Top::Style style) const {
    switch (style) {
      case Top::Style::plain: return A_NORMAL;
      case Top::Style::title: return A_BOLD;
      case Top::Style::head: return A_UNDERLINE;
      case Top::Style::selected: return A_REVERSE;
      case Top::Style::marked: return A_BOLD;
      case Top::Style::loud: return A_BOLD | color(Tint::warn);
      case Top::Style::quiet: return A_DIM;
    }
    return A_NORMAL;
  }

  [[nodiscard]] attr_t color(Tint tint) const {
    const short pair = tint == Tint::good ? good_pair : tint == Tint::warn ? warn_pair : bad_pair;
    return colored_ && tint != Tint::none ? static_cast<attr_t>(COLOR_PAIR(pair)) : 0;
  }

  /// Takes a click or a turn of the wheel.
  static void take_mouse(std::vector<TopKey>& keys) {
    MEVENT event;
    if (::getmouse(&event) != OK) return;
    if ((event.bstate & BUTTON1_PRESSED) != 0) keys.push_back({TopKey::Kind::click, {}, event.y, event.x});
    if ((event.bstate & BUTTON4_PRESSED) != 0) keys.push_back({TopKey::Kind::up, {}});
    if ((event.bstate & wheel_down) != 0) keys.push_back({TopKey::Kind::down, {}});
  }

  void take(bool is_function, wint_t value, std::vector<TopKey>& keys) {
    using Kind = TopKey::Kind;
    if (is_function && static_cast<int>(value) == paste_begins) {
      pastes_ = true;
      pasted_.clear();
    } else if (is_function && static_cast<int>(value) == paste_ends) {
      if (std::exchange(pastes_, false)) keys.push_back({Kind::paste, pasted_});
    } else if (pastes_) {
      constexpr std::size_t most = 4096;
      if (!is_function && pasted_.size() < most) pasted_ += utf8_of(value);
    } else if (is_function && value == KEY_MOUSE) {
      take_mouse(keys);
    } else if (is_function) {
      if (const auto kind = kind_of(static_cast<int>(value))) keys.push_back({*kind, {}});
    } else if (value == '\r' || value == '\n') {
      keys.push_back({Kind::enter, {}});
    } else if (value == '\t') {
      keys.push_back({Kind::tab, {}});
    } else if (value == 27) {
      keys.push_back({Kind::escape, {}});
    } else if (value == 127 || value == 8) {
      keys.push_back({Kind::backspace, {}});
    } else if (value == 21) {
      keys.push_back({Kind::erase_line, {}});
    } else if (value == 6 || value == 2) {  // Ctrl-F, Ctrl-B
      keys.push_back({value == 6 ? Kind::page_down : Kind::page_up, {}});
    } else if (value >= 0x20) {
      keys.push_back({Kind::text, utf8_of(value)});
    }
  }

  static std::optional<TopKey::Kind> kind_of(int code) {
    using Kind = TopKey::Kind;
    switch (code) {
      case KEY_UP: return Kind::up;
      case KEY_DOWN: return Kind::down;
      case KEY_LEFT: return Kind::left;
      case KEY_RIGHT: return Kind::right;
      case KEY_PPAGE: return Kind::page_up;
      case KEY_NPAGE: return Kind::page_down;
      case KEY_HOME: return Kind::home;
      case KEY_END: return Kind::end;
      case KEY_ENTER: return Kind::enter;
      case KEY_BACKSPACE: return Kind::backspace;
      default: return std::nullopt;
    }
  }

  SCREEN* screen_;
  bool colored_ = false;
  bool away_ = false;
  bool pastes_ = false;
  std::string pasted_;
};

}  // namespace

Result<std::unique_ptr<CursesScreen>> CursesScreen::open(bool colors) {
  // Output is UTF-8; a unit's or a test's environment may have no locale.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX < 4)
    if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "en_US.UTF-8");
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* kind = std::getenv("TERM");
    return Error{"terminal.unknown", std::string("nothing is known of terminals of the kind \"") +
                                         (kind == nullptr ? "" : kind) + "\" (TERM); try TERM=xterm"};
  }
  return std::unique_ptr<CursesScreen>(new Curses(screen, colors));
}

}  // namespace inbox_poller::poller::cli

#endif

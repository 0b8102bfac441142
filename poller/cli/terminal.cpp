#include "poller/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "poller/cli/console.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr std::size_t most_pasted = 4096;
// The alternate screen, no cursor, and pasted text between marks, so that it cannot pass for keys.
constexpr std::string_view enters = "\x1b[?1049h\x1b[?25l\x1b[?2004h";
constexpr std::string_view leaves = "\x1b[?2004l\x1b[?25h\x1b[?1049l";
constexpr std::string_view end_of_paste = "\x1b[201~";

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char byte : bytes) take(byte, keys);
  return keys;
}

std::vector<Key> KeyReader::settle() {
  if (!undecided()) return {};
  state_ = State::plain;
  return {{Key::Kind::escape, {}}};
}

void KeyReader::clear() { *this = {}; }

void KeyReader::take(char byte, std::vector<Key>& keys) {
  switch (state_) {
    case State::plain: return take_plain(byte, keys);
    case State::escape:
      if (byte == '[' || byte == 'O') {
        state_ = State::sequence;
        sequence_ = byte;
        return;
      }
      if (byte == '\x1b') return keys.push_back({Key::Kind::escape, {}});  // and another, undecided
      state_ = State::plain;  // a key together with Alt: it must not pass for Escape and that key
      return;
    case State::sequence:
      sequence_ += byte;
      if (byte < 0x40 || byte > 0x7e) {
        if (sequence_.size() > 32) clear();
        return;
      }
      state_ = sequence_ == "[200~" ? State::paste : State::plain;
      sequence_.clear();
      return;
    case State::paste:
      pasted_ += byte;
      if (!pasted_.ends_with(end_of_paste)) {
        if (pasted_.size() > most_pasted + end_of_paste.size()) pasted_.erase(most_pasted, 1);
        return;
      }
      pasted_.resize(pasted_.size() - end_of_paste.size());
      keys.push_back({Key::Kind::paste, std::exchange(pasted_, {})});
      state_ = State::plain;
      return;
  }
}

void KeyReader::take_plain(char byte, std::vector<Key>& keys) {
  const auto value = static_cast<unsigned char>(byte);
  if (value < 0x80) sequence_.clear();  // a character that was cut off is none
  if (byte == '\x1b') {
    state_ = State::escape;
  } else if (byte == '\r' || byte == '\n') {
    keys.push_back({Key::Kind::enter, {}});
  } else if (byte == '\x7f' || byte == '\b') {
    keys.push_back({Key::Kind::backspace, {}});
  } else if (byte == '\x15') {
    keys.push_back({Key::Kind::erase_line, {}});
  } else if (value >= 0x20) {
    sequence_ += byte;
    if (schema::code_point_at(sequence_, 0).valid) {
      keys.push_back({Key::Kind::text, std::exchange(sequence_, {})});
    } else if (sequence_.size() >= 4) {
      sequence_.clear();
    }
  }
}

bool Terminal::usable(int in, int out) { return ::isatty(in) != 0 && ::isatty(out) != 0; }

Terminal::Terminal(int in, int out) : in_(in), out_(out) { enter(); }

void Terminal::enter() {
  if (!inside_) ::tcgetattr(in_, &before_);
  termios raw = before_;
  raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO | IEXTEN));  // Ctrl-C and Ctrl-Z stay signals
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(in_, TCSAFLUSH, &raw);
  inside_ = true;
  static_cast<void>(write_all(out_, enters).ok());
}

void Terminal::leave() {
  if (!inside_) return;
  static_cast<void>(write_all(out_, leaves).ok());  // gone, there is nothing to restore
  ::tcsetattr(in_, TCSAFLUSH, &before_);  // what was typed here is nothing for the shell
  inside_ = false;
}

ScreenSize Terminal::size() const {
  winsize size{};
  if (::ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

void Terminal::drop_typed() const {
  ::tcdrain(out_);
  ::tcflush(in_, TCIFLUSH);
}

}  // namespace inbox_poller::poller::cli

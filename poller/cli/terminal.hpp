// A person's terminal, for a command that draws on it: raw mode and the alternate screen for as long as an object
// lives, its size, and keys.
#pragma once

#include <termios.h>

#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli {

struct Key {
  enum class Kind { text, enter, escape, backspace, erase_line, paste };
  Kind kind = Kind::text;
  std::string text;  // text: one character, UTF-8; paste: what was pasted
};

/// Bytes from a terminal as keys. Cursor keys and other sequences are none of ours and are passed over.
class KeyReader {
 public:
  std::vector<Key> feed(std::string_view bytes);
  /// True after an ESC that may be the Escape key or begin a sequence; nothing behind it for a moment: settle().
  [[nodiscard]] bool undecided() const { return state_ == State::escape; }
  std::vector<Key> settle();
  void clear();

 private:
  enum class State { plain, escape, sequence, paste };

  void take(char byte, std::vector<Key>& keys);
  void take_plain(char byte, std::vector<Key>& keys);

  State state_ = State::plain;
  std::string sequence_;  // the bytes of a sequence, or of a character that is not complete
  std::string pasted_;
};

struct ScreenSize {
  int rows = 24;
  int columns = 80;
};

class Terminal {
 public:
  /// True when both are terminals.
  static bool usable(int in, int out);

  /// Both must be usable(). The terminal is as before after the end of its life, and between leave() and enter().
  Terminal(int in, int out);
  ~Terminal() { leave(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void enter();
  void leave();
  [[nodiscard]] ScreenSize size() const;
  /// Throws away what was typed and not read yet.
  void drop_typed() const;

 private:
  int in_;
  int out_;
  bool inside_ = false;
  termios before_{};
};

}  // namespace inbox_poller::poller::cli

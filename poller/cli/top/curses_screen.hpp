// The terminal of `top`: output through curses, which sends only changes, and input. No other file uses the library. A
// build without the library reports that.
#pragma once

#include <memory>
#include <vector>

#include "poller/cli/top/top.hpp"

namespace inbox_poller::poller::cli {

class CursesScreen {
 public:
  /// Opens standard input and output. Errors: "curses.missing" (not in this build), "terminal.unknown" (TERM).
  static Result<std::unique_ptr<CursesScreen>> open(bool colors);
  virtual ~CursesScreen() = default;

  [[nodiscard]] virtual ScreenSize size() const = 0;
  virtual void draw(const std::vector<Top::Line>& lines) = 0;
  /// Returns the keys typed until now. Waits at most 25 ms, for the rest of an incomplete sequence.
  virtual std::vector<TopKey> keys() = 0;
  /// Discards typed and unread input.
  virtual void drop_typed() = 0;
  /// Must be called when the terminal's size has changed.
  virtual void resized() = 0;
  /// Restores the terminal until the next draw(). Discards unread input, which is not for the next program.
  virtual void leave() = 0;
};

}  // namespace inbox_poller::poller::cli

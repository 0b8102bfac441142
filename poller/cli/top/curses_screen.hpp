// The terminal of `top`: drawn with curses, which sends only what has changed, and read through it. The only file that
// knows the library; a build without it says so.
#pragma once

#include <memory>
#include <vector>

#include "poller/cli/top/top.hpp"

namespace inbox_poller::poller::cli {

class CursesScreen {
 public:
  /// On standard input and output. Errors: no library in this build, or a terminal (TERM) that it does not know.
  static Result<std::unique_ptr<CursesScreen>> open(bool colours);
  virtual ~CursesScreen() = default;

  [[nodiscard]] virtual ScreenSize size() const = 0;
  virtual void draw(const std::vector<Top::Line>& lines) = 0;
  /// What was typed until now. Never waits, but for the rest of a sequence that has begun (25 ms).
  virtual std::vector<TopKey> keys() = 0;
  /// Throws away what was typed and not read yet.
  virtual void drop_typed() = 0;
  /// The terminal has another size now.
  virtual void resized() = 0;
  /// The terminal as it was, until the next draw(); what was typed and not read is nothing for who comes next.
  virtual void leave() = 0;
};

}  // namespace inbox_poller::poller::cli

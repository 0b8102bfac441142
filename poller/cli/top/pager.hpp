// A text on the screen that may be longer than it: what is in view, and whether all of it was. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace inbox_poller::poller::cli {

class Pager {
 public:
  Pager() = default;
  explicit Pager(std::string text) : text_(std::move(text)) {}

  /// The lines in view on a screen of this size; they are drawn from now on.
  std::vector<std::string> draw(int columns, std::size_t lines, long long now);
  void scroll(long by);
  /// Something else is on the screen.
  void hidden() { is_drawn_ = false; }
  void to_end() { scroll(static_cast<long>(lines_.size())); }
  [[nodiscard]] std::size_t page() const { return page_; }
  /// Each line was on the screen at this width, one after the other.
  [[nodiscard]] bool whole() const { return columns_ > 0 && seen_ >= lines_.size(); }
  /// On the screen for long enough to be what a key was meant for.
  [[nodiscard]] bool is_armed(long long now) const;
  /// "lines 1 to 20 of 60"; empty when all of it is in view.
  [[nodiscard]] std::string place() const;

 private:
  std::string text_;
  std::vector<std::string> lines_;
  int columns_ = 0;
  std::size_t top_ = 0;
  std::size_t page_ = 1;
  std::size_t seen_ = 0;  // from the first on, have been on the screen
  bool is_drawn_ = false;
  long long since_ms_ = 0;
};

}  // namespace inbox_poller::poller::cli

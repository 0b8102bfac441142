// A text that may be longer than the screen: the part in view, and whether all of it was shown. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace inbox_poller::poller::cli {

class Pager {
 public:
  Pager() = default;
  explicit Pager(std::string text) : text_(std::move(text)) {}

  /// Returns the lines in view on a screen of this size, and records that they are drawn.
  std::vector<std::string> draw(int columns, std::size_t lines, long long now);
  void scroll(long by);
  /// Must be called when something else is on the screen.
  void hidden() { is_drawn_ = false; }
  void to_end() { scroll(static_cast<long>(lines_.size())); }
  [[nodiscard]] std::size_t page() const { return page_; }
  /// True when each line was on the screen at this width, without a gap.
  [[nodiscard]] bool whole() const { return columns_ > 0 && seen_ >= lines_.size(); }
  /// True when the text was on the screen long enough to be what a key was meant for.
  [[nodiscard]] bool is_armed(long long now) const;
  /// Returns text such as "lines 1 to 20 of 60"; empty when all of it fits.
  [[nodiscard]] std::string place() const;

 private:
  std::string text_;
  std::vector<std::string> lines_;
  int columns_ = 0;
  std::size_t top_ = 0;
  std::size_t page_ = 1;
  std::size_t seen_ = 0;  // number of lines from the first that were shown
  bool is_drawn_ = false;
  long long since_ms_ = 0;
};

}  // namespace inbox_poller::poller::cli

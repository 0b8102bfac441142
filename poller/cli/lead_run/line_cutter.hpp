// Splits a byte stream into lines. Lines over the limit are skipped and counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace inbox_poller::poller::cli {

class LineCutter {
 public:
  explicit LineCutter(std::size_t most) : most_(most) {}

  /// Calls `take(std::string_view line)` for each complete line, without its newline.
  template <class Take>
  void feed(std::string_view bytes, Take take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (!skipping_) rest_ += bytes.substr(0, end);
      if (rest_.size() > most_) {
        skipping_ = true;
        rest_ = std::string();
      }
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      if (skipping_) {
        ++left_out_;
      } else {
        take(std::string_view(rest_));
      }
      clear();
    }
  }

  /// Returns the bytes after the last newline.
  [[nodiscard]] std::string take_rest() {
    if (std::exchange(skipping_, false)) ++left_out_;
    return std::exchange(rest_, {});
  }
  void clear() {
    rest_.clear();
    skipping_ = false;
  }
  /// Number of lines skipped since the last call.
  std::size_t take_left_out() { return std::exchange(left_out_, 0); }

 private:
  std::size_t most_;
  std::string rest_;
  bool skipping_ = false;
  std::size_t left_out_ = 0;
};

}  // namespace inbox_poller::poller::cli

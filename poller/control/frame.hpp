// Splits the bytes of a control connection into requests: one line each, one JSON object per line. No socket, no clock.
// Invariant: at most one byte over the limit is kept. Source: docs/reference/control.md.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "poller/control/client.hpp"

namespace inbox_poller::poller {

class FrameCutter {
 public:
  /// `most` is the limit of bytes in a line, without its newline.
  explicit FrameCutter(std::size_t most = max_request_bytes) : most_(most) {}

  /// Number of bytes that add() may still receive; at 0 call take() first.
  [[nodiscard]] std::size_t room() const { return most_ + 1 - bytes_.size(); }
  /// Appends received bytes; at most room() of them.
  void add(std::string_view bytes) { bytes_ += bytes; }

  /// True when no received bytes are left.
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// True when a line is complete or longer than the limit.
  [[nodiscard]] bool ready() const { return room() == 0 || bytes_.find('\n') != std::string::npos; }
  /// Takes the next line without its newline; empty when it is incomplete or over the limit.
  std::optional<std::string> take() {
    const std::size_t end = bytes_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = bytes_.substr(0, end);
    bytes_.erase(0, end + 1);
    return line;
  }

 private:
  std::size_t most_;
  std::string bytes_;
};

/// Parses a line as a JSON object; empty when it is anything else.
inline std::optional<boost::json::object> parse_request(std::string_view line) {
  boost::json::error_code problem;
  boost::json::value request = boost::json::parse(line, problem);
  if (problem || !request.is_object()) return std::nullopt;
  return std::move(request.get_object());
}

}  // namespace inbox_poller::poller

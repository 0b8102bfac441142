// Cutting what a connection of the control socket received into requests: one line each, one JSON object a line.
// Pure: no socket, no clock. Invariant: never more than one byte over the limit is kept. Source:
// docs/reference/control.md.
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
  /// `most`: how many bytes a line may have, without its newline.
  explicit FrameCutter(std::size_t most = max_request_bytes) : most_(most) {}

  /// How many more bytes may come now; with 0 something has to be taken first.
  [[nodiscard]] std::size_t room() const { return most_ + 1 - bytes_.size(); }
  /// Not more than room() of them.
  void add(std::string_view bytes) { bytes_ += bytes; }

  /// Whether bytes have arrived that nobody has taken.
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Whether a line is there, or more of one than we take.
  [[nodiscard]] bool ready() const { return room() == 0 || bytes_.find('\n') != std::string::npos; }
  /// The next line without its newline; none when it is longer than it may be, or not all there.
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

/// The object that a line is; none when it is anything else.
inline std::optional<boost::json::object> parse_request(std::string_view line) {
  boost::json::error_code problem;
  boost::json::value request = boost::json::parse(line, problem);
  if (problem || !request.is_object()) return std::nullopt;
  return std::move(request.get_object());
}

}  // namespace inbox_poller::poller

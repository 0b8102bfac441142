// The end of the way: who gets the messages, and when. Either a client of the daemon's control socket (attach, recv,
// and an acknowledgment with the next recv, as docs/reference/control.md says), or the listener to whose Unix socket
// the reference and the floor write a JSON line a message.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/stamps.hpp"

namespace inbox_poller::bench {

class Consumer {
 public:
  /// `kind`: "control" (connects to `socket` for `team`) or "listen" (waits for one connection to `socket`).
  Consumer(const std::string& kind, const std::string& socket, const std::string& team, std::span<Slot> slots);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  /// Waits for at most so long, and notes what has come.
  void take(int milliseconds);

  /// Nothing more can come.
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::size_t distinct() const { return distinct_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void send(const std::string& line);
  void line_came(std::string_view line, Nanoseconds at);
  void message_came(std::string_view text, Nanoseconds at);
  void problem(std::string what);

  bool control_;
  std::string team_;
  std::span<Slot> slots_;
  int socket_ = -1;
  bool attached_ = false;
  bool closed_ = false;
  std::string buffer_;
  std::size_t searched_ = 0;
  std::size_t distinct_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace inbox_poller::bench

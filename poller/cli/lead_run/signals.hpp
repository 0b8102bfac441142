// Signals as something that poll(2) can wait for. At most one object at a time.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "poller/filesystem.hpp"

namespace inbox_poller::poller::cli {

class Signals {
 public:
  /// Catches these until the end of its life. One that was ignored when we were started stays ignored (nohup).
  explicit Signals(const std::vector<int>& numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when a signal has come.
  [[nodiscard]] int descriptor() const { return read_end_.get(); }
  /// Those that came since the last call, in order.
  std::vector<int> take();

 private:
  Fd read_end_, write_end_;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace inbox_poller::poller::cli

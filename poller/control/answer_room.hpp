// Memory budget for unread answers of all connections. When it is full, the answer that has waited longest is given up,
// so that no client blocks the others.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>

namespace inbox_poller::poller {

class AnswerRoom {
 public:
  using Clock = std::chrono::steady_clock;

  /// `limit` in bytes. An answer may be given up after it has waited for `patience` (steady clock).
  AnswerRoom(std::size_t limit, Clock::duration patience) : limit_(limit), patience_(patience) {}

  struct Part {
    std::size_t bytes = 0;
    Clock::time_point since;
    std::function<void()> give_up;
  };
  using Ticket = std::list<Part>::iterator;

  /// Reserves memory for an answer. `give_up` is called when the answer has to yield to another one; its ticket is then
  /// void. Empty when the budget is full and no answer has waited long enough.
  std::optional<Ticket> take(std::size_t bytes, Clock::time_point now, std::function<void()> give_up);
  void release(Ticket);
  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  std::size_t limit_;
  Clock::duration patience_;
  std::size_t taken_ = 0;
  std::list<Part> parts_;  // oldest first
};

}  // namespace inbox_poller::poller

// The memory that answers may take while they wait to be read, of all connections together. Fair: who has had an answer
// for a while and has not taken it makes room for who comes, the longest first; nobody keeps others from their answers.
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

  /// `limit` in bytes. An answer that has waited for `patience` may have to make room.
  AnswerRoom(std::size_t limit, Clock::duration patience) : limit_(limit), patience_(patience) {}

  struct Part {
    std::size_t bytes = 0;
    Clock::time_point since;
    std::function<void()> give_up;
  };
  using Ticket = std::list<Part>::iterator;

  /// Room for an answer; `give_up` is called when it has to make room for another, and the ticket is void then. Nothing
  /// when there is no room, and nobody who has had his time.
  std::optional<Ticket> take(std::size_t bytes, Clock::time_point now, std::function<void()> give_up);
  void give_back(Ticket);
  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  std::size_t limit_;
  Clock::duration patience_;
  std::size_t taken_ = 0;
  std::list<Part> parts_;  // oldest first
};

}  // namespace inbox_poller::poller

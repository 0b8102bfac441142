#include "poller/control/answer_room.hpp"

#include <utility>

namespace inbox_poller::poller {

std::optional<AnswerRoom::Ticket> AnswerRoom::take(std::size_t bytes, Clock::time_point now,
                                                   std::function<void()> give_up) {
  std::size_t free = limit_ - taken_;
  auto last = parts_.begin();  // end of the answers to give up
  for (; free < bytes && last != parts_.end() && now - last->since >= patience_; ++last) free += last->bytes;
  if (free < bytes) return std::nullopt;  // checked first, so that no answer is given up in vain
  std::list<Part> leaving;
  leaving.splice(leaving.begin(), parts_, parts_.begin(), last);
  for (const Part& part : leaving) {
    taken_ -= part.bytes;
    part.give_up();
  }
  taken_ += bytes;
  return parts_.insert(parts_.end(), {bytes, now, std::move(give_up)});
}

void AnswerRoom::release(Ticket ticket) {
  taken_ -= ticket->bytes;
  parts_.erase(ticket);
}

}  // namespace inbox_poller::poller

// Keeps a team's task queue in order where its mailbox system has one: gives back what nobody holds any more, and runs
// the configured program (tasks.on_done) for each task that was finished. What was told is in the history, so a restart
// tells nothing twice but what a kill left between the program's end and the record of it. Invariants: one program at a
// time; exit 0 alone is an acknowledgement; nothing waits for it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <string>

#include "poller/context/team_context.hpp"
#include "poller/every.hpp"
#include "poller/mailbox/coordination.hpp"

namespace inbox_poller::poller {

class TaskKeeper {
 public:
  /// `tasks` may be null: then there is nothing to keep.
  TaskKeeper(TeamContext& context, Coordination* tasks) : context_(context), tasks_(tasks) {}

  /// A step of a poll, when something is due.
  void settle();
  /// Tells of the next finished task. True when another may be due at once; see Notifier::tell_next.
  boost::asio::awaitable<bool> tell_next(std::function<bool()> given_up);
  [[nodiscard]] bool owes() const { return !finished_.empty(); }

 private:
  void sweep();
  void look_for_finished();
  Result<bool> is_told(const std::string& id) const;

  TeamContext& context_;
  Coordination* tasks_;
  std::deque<FinishedTask> finished_;
  Every look_{std::chrono::seconds(2)};
  SteadyTime not_before_{};  // for the first of them
  int tries_ = 0;
  bool running_ = false;
  std::string trouble_;  // told already
};

}  // namespace inbox_poller::poller

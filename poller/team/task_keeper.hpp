// Keeps a team's task queue in order where its mailbox system has one: gives back what nobody holds any more, and has
// the configured program (tasks.on_done) told of each task that was finished. What was told is in the history.
#pragma once

#include <string>

#include "poller/context/team_state.hpp"
#include "poller/every.hpp"
#include "poller/mailbox/task_events.hpp"
#include "poller/team/errands.hpp"

namespace inbox_poller::poller {

class TaskKeeper {
 public:
  /// `tasks` may be null: then there is nothing to keep.
  TaskKeeper(TeamState& context, TaskEvents* tasks)
      : context_(context), errands_(context.clock, context.name, Errands::AfterFailure::others), tasks_(tasks) {}

  /// A step of a poll, when something is due.
  void run_due();
  Errands& errands() { return errands_; }

 private:
  void sweep();
  void look_for_finished();

  TeamState& context_;
  Errands errands_;
  TaskEvents* tasks_;
  Every look_{std::chrono::seconds(2)};
  std::string trouble_;  // told already
};

}  // namespace inbox_poller::poller

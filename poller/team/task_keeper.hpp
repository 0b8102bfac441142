// Maintains a team's task queue, where its mailbox backend has one. Releases tasks whose lease has expired, and runs
// the configured program (tasks.done_command) for each finished task. The history records each run.
#pragma once

#include <string>

#include "poller/context/team_state.hpp"
#include "poller/every.hpp"
#include "poller/mailbox/task_events.hpp"
#include "poller/team/job_queue.hpp"

namespace inbox_poller::poller {

class TaskKeeper {
 public:
  /// `tasks` may be null; then run_due() has nothing to do.
  TaskKeeper(TeamState& context, TaskEvents* tasks)
      : context_(context), jobs_(context.clock, context.name, JobQueue::AfterFailure::others), tasks_(tasks) {}

  /// Runs as a stage of a poll, when something is due.
  void run_due();
  JobQueue& jobs() { return jobs_; }

 private:
  void sweep();
  void look_for_finished();

  TeamState& context_;
  JobQueue jobs_;
  TaskEvents* tasks_;
  Every look_{std::chrono::seconds(2)};
  std::string trouble_;  // the last logged one
};

}  // namespace inbox_poller::poller

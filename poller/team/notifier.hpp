// Notifies a person of approval requests through the configured program (approver.command): once when a request opens,
// once when it is decided. The history records each notification, so a restart repeats none.
#pragma once

#include "poller/context/team_state.hpp"
#include "poller/team/job_queue.hpp"

namespace inbox_poller::poller {

class Notifier {
 public:
  explicit Notifier(TeamState& context)
      : context_(context), jobs_(context.clock, context.name, JobQueue::AfterFailure::same) {}

  /// Loads the decisions of the last day that still need a notification, because the person was notified of the
  /// request. Errors: ledger.*.
  Status restore();

  /// Queues a notification of the request. False when it cannot be queued now (no program, or queue full); retry later.
  bool asked(const handlers::Request& request) { return note(request, false); }
  void decided(const handlers::Request& request) { note(request, true); }
  JobQueue& jobs() { return jobs_; }

 private:
  bool note(const handlers::Request&, bool of_decision);

  TeamState& context_;
  JobQueue jobs_;
  bool overflow_told_ = false;
};

}  // namespace inbox_poller::poller

// Reminds each worker once, by a text, if nothing followed the approval of its plan. Memory holds only the time of the
// last check. The ledger has the decision, the messages sent and the worker's messages since.
#pragma once

#include "poller/context/team_state.hpp"
#include "poller/every.hpp"
#include "poller/ledger/found_empty.hpp"

namespace inbox_poller::poller {

class PlanReminders {
 public:
  explicit PlanReminders(TeamState& context) : context_(context) {}

  /// Sends the reminders that are due. Call once a tick.
  void run_due();

 private:
  /// True when nothing was decided lately.
  bool remind_due();
  /// True when the worker has read the approval and sent nothing since.
  [[nodiscard]] bool is_silent(const handlers::Request& approved) const;
  void remind(const handlers::Request& approved);

  TeamState& context_;
  Every look_{std::chrono::seconds(5)};
  FoundEmpty none_decided_;  // in the recent past
};

}  // namespace inbox_poller::poller

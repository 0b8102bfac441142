// Workers whose approved plan came to nothing: each is reminded once, in words. Nothing is kept in memory but when it
// was looked last: what was decided, what was written and what the worker said since stands in the ledger.
#pragma once

#include "poller/context/team_state.hpp"
#include "poller/every.hpp"
#include "poller/ledger/found_empty.hpp"

namespace inbox_poller::poller {

class PlanReminders {
 public:
  explicit PlanReminders(TeamState& context) : context_(context) {}

  /// Reminds who is due. Call once a tick.
  void run_due();

 private:
  /// True when nothing was decided lately.
  bool remind_due();
  /// True when it has taken the approval and said nothing since.
  [[nodiscard]] bool is_silent(const handlers::Ask& approved) const;
  void remind(const handlers::Ask& approved);

  TeamState& context_;
  Every look_{std::chrono::seconds(5)};
  FoundEmpty none_decided_;  // lately
};

}  // namespace inbox_poller::poller

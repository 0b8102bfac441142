// Activity of the lead, from reported events and from timeouts. The ledger keeps it over a restart. handlers/gate.hpp
// has the table of states.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/gate.hpp"
#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

using handlers::LeadEvent;
using handlers::LeadState;

/// The lead's session, as reported by its hooks or its stream.
struct LeadSession {
  std::string id;
  std::string pane;  // tmux pane id such as "%3"; empty outside of tmux
};

class LeadActivity {
 public:
  explicit LeadActivity(TeamState& context) : context_(context) {}

  /// Loads the state from before a restart. A busy state keeps its time limit. Errors: ledger.*.
  Status restore();

  /// Records a lead event; `limit` bounds a busy state (default: delivery.busy_timeout). Explicit reports (`lead busy`)
  /// are committed before return. Other events are committed by the next tick, because a hook is waiting. Errors:
  /// ledger.*.
  Status report(LeadEvent event, std::optional<config::Duration> limit = std::nullopt,
                const LeadSession* session = nullptr);
  /// Sets the turn status from the file of the lead's session; empty: no such file (any more).
  void session_says(std::string_view status);
  /// Ends an expired busy state and records pending events. Call once a tick.
  void run_due();

  [[nodiscard]] LeadState state() const { return row_.state; }
  [[nodiscard]] const LeadRow& row() const { return row_; }
  [[nodiscard]] bool has_session() const { return !row_.session.empty(); }
  /// Version counter; grows with every reported lead event.
  [[nodiscard]] long long reports() const { return reports_; }

 private:
  struct Change {
    LeadState old, now;
    LeadEvent by;
  };
  [[nodiscard]] bool tells_turns_now() const;
  Status record();

  TeamState& context_;
  LeadRow row_;
  std::vector<Change> untold_;  // changes of state that are not recorded yet
  bool unrecorded_ = false;
  long long reports_ = 0;
  std::optional<SteadyTime> recorded_at_;
  std::optional<SteadyTime> busy_until_;
};

}  // namespace inbox_poller::poller

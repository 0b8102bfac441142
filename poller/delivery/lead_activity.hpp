// What the lead is doing, as somebody told or as time makes of it. It survives a restart. The table of states is
// handlers/gate.hpp.
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

/// The lead's session, as its hooks or its stream tell.
struct LeadSession {
  std::string id;
  std::string pane;  // "%3", when it lives in one
};

class LeadActivity {
 public:
  explicit LeadActivity(TeamState& context) : context_(context) {}

  /// From before a restart. A busy state goes on running out.
  Status restore();

  /// Something that tells what the lead is doing; `limit` bounds a busy state (default: delivery.busy_limit). What
  /// somebody said in so many words is recorded before this returns, the rest with the next tick: an event costs no
  /// write of its own, because a hook waits for us.
  Status report(LeadEvent event, std::optional<config::Duration> limit = std::nullopt,
                const LeadSession* session = nullptr);
  /// What the file of the lead's session says of its turns now; empty: there is none (any more).
  void session_says(std::string_view status);
  /// Ends a busy state that has run out, and records what is not recorded yet. Once a tick.
  void run_due();

  [[nodiscard]] LeadState state() const { return state_; }
  [[nodiscard]] const LeadRow& row() const { return row_; }
  [[nodiscard]] bool has_session() const { return !row_.session.empty(); }
  /// Another number than before once anything told of the state.
  [[nodiscard]] long long reports() const { return reports_; }

 private:
  struct Change {
    LeadState old, now;
    LeadEvent by;
  };
  [[nodiscard]] bool tells_turns_now() const;
  Status record();

  TeamState& context_;
  LeadState state_ = LeadState::idle;
  LeadRow row_{"idle", 0, 0, {}, {}, {}};
  std::vector<Change> untold_;  // changes of state that are not recorded yet
  bool unrecorded_ = false;
  long long reports_ = 0;
  std::optional<SteadyTime> recorded_at_;
  std::optional<SteadyTime> busy_until_;
};

}  // namespace inbox_poller::poller

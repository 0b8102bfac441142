// Tells a person of asks by an errand to the configured program (person.notify): once when an ask opens, once when one
// that was told of is decided. What was told is in the ask's history, so a restart tells nothing twice.
#pragma once

#include "poller/context/team_state.hpp"
#include "poller/team/errands.hpp"

namespace inbox_poller::poller {

class Notifier {
 public:
  explicit Notifier(TeamState& context)
      : context_(context), errands_(context.clock, context.name, Errands::AfterFailure::same) {}

  /// Picks up decisions of the last day of which a person, told of the ask, has not heard.
  Status restore();

  /// To be told when its turn comes. False when it cannot be noted now (no program, or too many wait): ask again later.
  bool asked(const handlers::Ask& ask) { return note(ask, false); }
  void decided(const handlers::Ask& ask) { note(ask, true); }
  Errands& errands() { return errands_; }

 private:
  bool note(const handlers::Ask&, bool of_decision);

  TeamState& context_;
  Errands errands_;
  bool overflow_told_ = false;
};

}  // namespace inbox_poller::poller

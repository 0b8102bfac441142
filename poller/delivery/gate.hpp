// The busy/idle gate: whether chat may be handed to the lead now. One total table; control messages never pass through
// it. Source: docs/architecture.md, "Delivery".
#pragma once

#include <optional>
#include <string_view>

namespace inbox_poller::poller {

enum class LeadState {
  idle,  // between turns: chat may be handed over
  busy,  // in a turn: chat waits
  gone,  // no session: chat waits, however long
};
std::string_view to_string(LeadState);
std::optional<LeadState> parse_lead_state(std::string_view);

enum class LeadEvent {
  reports_busy,
  reports_idle,
  reports_gone,
  busy_limit_passes,  // nobody took the busy report back: a person may have interrupted the turn
};

/// The state after the event. Total.
LeadState next(LeadState, LeadEvent);

/// True when chat may be offered.
bool is_open(LeadState);

}  // namespace inbox_poller::poller

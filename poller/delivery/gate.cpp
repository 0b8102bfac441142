#include "poller/delivery/gate.hpp"

#include <cstdlib>

namespace inbox_poller::poller {

std::string_view to_string(LeadState state) {
  switch (state) {
    case LeadState::idle: return "idle";
    case LeadState::busy: return "busy";
    case LeadState::gone: return "gone";
  }
  std::abort();
}

std::optional<LeadState> parse_lead_state(std::string_view text) {
  for (const auto state : {LeadState::idle, LeadState::busy, LeadState::gone})
    if (text == to_string(state)) return state;
  return std::nullopt;
}

LeadState next(LeadState state, LeadEvent event) {
  switch (event) {
    case LeadEvent::reports_busy: return LeadState::busy;
    case LeadEvent::reports_idle: return LeadState::idle;
    case LeadEvent::reports_gone: return LeadState::gone;
    case LeadEvent::busy_limit_passes:
      switch (state) {
        case LeadState::busy: return LeadState::idle;
        case LeadState::idle: return LeadState::idle;
        case LeadState::gone: return LeadState::gone;  // a session that left does not come back by waiting
      }
  }
  std::abort();
}

bool is_open(LeadState state) { return state == LeadState::idle; }

}  // namespace inbox_poller::poller

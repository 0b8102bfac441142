#include "handlers/gate.hpp"

#include <cstdlib>

namespace inbox_poller::handlers {

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

std::string_view to_string(LeadEvent event) {
  switch (event) {
    case LeadEvent::reports_busy: return "reports_busy";
    case LeadEvent::reports_idle: return "reports_idle";
    case LeadEvent::reports_gone: return "reports_gone";
    case LeadEvent::session_starts: return "session_starts";
    case LeadEvent::prompt_submitted: return "prompt_submitted";
    case LeadEvent::tool_used: return "tool_used";
    case LeadEvent::turn_stops: return "turn_stops";
    case LeadEvent::turn_continues: return "turn_continues";
    case LeadEvent::turn_fails: return "turn_fails";
    case LeadEvent::turn_interrupted: return "turn_interrupted";
    case LeadEvent::prompt_waits: return "prompt_waits";
    case LeadEvent::session_ends: return "session_ends";
    case LeadEvent::stream_opens: return "stream_opens";
    case LeadEvent::stream_works: return "stream_works";
    case LeadEvent::stream_result: return "stream_result";
    case LeadEvent::stream_closes: return "stream_closes";
    case LeadEvent::batch_pushed: return "batch_pushed";
    case LeadEvent::busy_limit_passes: return "busy_limit_passes";
    case LeadEvent::disconnects: return "disconnects";
  }
  std::abort();
}

std::optional<LeadEvent> parse_lead_event(std::string_view text) {
  for (const auto event : lead_events)
    if (text == to_string(event)) return event;
  return std::nullopt;
}

LeadState next(LeadState state, LeadEvent event) {
  switch (event) {
    case LeadEvent::reports_busy:
    case LeadEvent::prompt_submitted:
    case LeadEvent::tool_used:
    case LeadEvent::turn_continues:
    case LeadEvent::stream_works: return LeadState::busy;

    case LeadEvent::reports_idle:
    case LeadEvent::session_starts:
    case LeadEvent::turn_stops:
    case LeadEvent::turn_fails:
    case LeadEvent::prompt_waits:
    case LeadEvent::stream_opens:
    case LeadEvent::stream_result: return LeadState::idle;

    case LeadEvent::reports_gone:
    case LeadEvent::session_ends:
    case LeadEvent::stream_closes:
    case LeadEvent::disconnects: return LeadState::gone;

    case LeadEvent::batch_pushed: return state == LeadState::idle ? LeadState::busy : state;
    // A session that left does not come back by waiting.
    case LeadEvent::turn_interrupted:
    case LeadEvent::busy_limit_passes: return state == LeadState::busy ? LeadState::idle : state;
  }
  std::abort();
}

bool is_open(LeadState state) { return state == LeadState::idle; }

bool tells_turns(LeadEvent event) {
  switch (event) {
    case LeadEvent::reports_busy:
    case LeadEvent::reports_idle:
    case LeadEvent::session_starts:
    case LeadEvent::prompt_submitted:
    case LeadEvent::tool_used:
    case LeadEvent::turn_stops:
    case LeadEvent::turn_continues:
    case LeadEvent::turn_fails:
    case LeadEvent::turn_interrupted:
    case LeadEvent::prompt_waits:
    case LeadEvent::stream_opens:
    case LeadEvent::stream_works:
    case LeadEvent::stream_result: return true;
    case LeadEvent::reports_gone:
    case LeadEvent::session_ends:
    case LeadEvent::stream_closes:
    case LeadEvent::batch_pushed:
    case LeadEvent::busy_limit_passes:
    case LeadEvent::disconnects: return false;
  }
  std::abort();
}

}  // namespace inbox_poller::handlers

#include "handlers/gate.hpp"

#include <cstdlib>

namespace inbox_poller::handlers {

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

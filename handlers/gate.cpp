#include "handlers/gate.hpp"

#include <cstdlib>

namespace inbox_poller::handlers {

LeadState next(LeadState state, LeadEvent event) {
  switch (event) {
    case LeadEvent::reports_busy:
    case LeadEvent::prompt_submitted:
    case LeadEvent::tool_used:
    case LeadEvent::turn_continues:
    case LeadEvent::stream_works:
    case LeadEvent::session_works: return LeadState::busy;

    case LeadEvent::reports_idle:
    case LeadEvent::session_starts:
    case LeadEvent::turn_stops:
    case LeadEvent::turn_fails:
    case LeadEvent::prompt_waits:
    case LeadEvent::stream_opens:
    case LeadEvent::stream_result:
    case LeadEvent::session_rests: return LeadState::idle;

    case LeadEvent::reports_offline:
    case LeadEvent::session_ends:
    case LeadEvent::stream_closes:
    case LeadEvent::disconnects: return LeadState::offline;

    case LeadEvent::batch_pushed: return state == LeadState::idle ? LeadState::busy : state;
    // A time limit does not bring back a session that left.
    case LeadEvent::turn_interrupted:
    case LeadEvent::busy_limit_passes: return state == LeadState::busy ? LeadState::idle : state;
  }
  std::abort();
}

std::optional<LeadEvent> said_by_file(std::string_view status, std::string_view by, bool hooks_tell) {
  const auto last = schema::parse<LeadEvent>(by);
  const bool is_ours = !last || *last == LeadEvent::session_works || *last == LeadEvent::session_rests ||
                       *last == LeadEvent::batch_pushed || *last == LeadEvent::busy_limit_passes;
  if (hooks_tell || !is_ours) return std::nullopt;
  if (status == "idle") return LeadEvent::session_rests;
  // A dialog or a shell covers the composer.
  const bool works = status == "busy" || status == "waiting" || status == "shell";
  return works ? std::optional(LeadEvent::session_works) : std::nullopt;
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
    case LeadEvent::session_works:  // the file itself shows when a turn begins
    case LeadEvent::session_rests:
    case LeadEvent::reports_offline:
    case LeadEvent::session_ends:
    case LeadEvent::stream_closes:
    case LeadEvent::batch_pushed:
    case LeadEvent::busy_limit_passes:
    case LeadEvent::disconnects: return false;
  }
  std::abort();
}

}  // namespace inbox_poller::handlers

// The gate: whether the lead is between turns. One total table of states and events: hooks, the stream of a lead that
// InboxPoller started, reports, deliveries, and time. Control messages never wait for the gate. Source:
// docs/dev/architecture.md, "Delivery"; hook events of the client's documentation (2.1.240).
#pragma once

#include <optional>
#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class LeadState {
  idle,  // between turns: chat may be offered
  busy,  // in a turn: chat waits, unless it is overdue
  offline,  // no session: chat waits without a limit
};
BOOST_DESCRIBE_ENUM(LeadState, idle, busy, offline)
inline std::string_view to_string(LeadState state) { return schema::name_of(state); }

enum class LeadEvent {
  // Reported by command (`inbox-poller lead …`):
  reports_busy,
  reports_idle,
  reports_offline,
  // Hooks of the lead's session:
  session_starts,
  prompt_submitted,
  tool_used,
  turn_stops,
  turn_continues,  // the lead wanted to stop, and got messages instead
  turn_fails,
  turn_interrupted,  // by a person; shown by the session's transcript, not by a hook
  prompt_waits,      // the client reports that nobody has typed for a while
  session_ends,
  // The stream of a lead that InboxPoller started:
  stream_opens,
  stream_works,  // any line of a turn
  stream_result,
  stream_closes,
  // The client's session file, if there is no other source:
  session_works,
  session_rests,
  // InboxPoller's own actions and timers:
  batch_pushed,       // presumed to begin a turn, if the lead reports the ends of turns
  busy_limit_passes,  // nothing ended the busy state: a person may have interrupted the turn
  disconnects,        // the program that held the lead's end went away without a report
};
BOOST_DESCRIBE_ENUM(LeadEvent, reports_busy, reports_idle, reports_offline, session_starts, prompt_submitted, tool_used,
                    turn_stops, turn_continues, turn_fails, turn_interrupted, prompt_waits, session_ends, stream_opens,
                    stream_works, stream_result, stream_closes, session_works, session_rests, batch_pushed, busy_limit_passes, disconnects)
inline std::string_view to_string(LeadEvent event) { return schema::name_of(event); }

/// Returns the state after the event. Total.
LeadState next(LeadState, LeadEvent);

/// Returns true if chat may be offered.
bool is_open(LeadState);

/// Returns the event that the `status` in a client's session file means. Empty if a hook, a stream or a person reports
/// turns (`by`: the name of the last event), and for unknown values of `status`.
std::optional<LeadEvent> said_by_file(std::string_view status, std::string_view by, bool hooks_tell);

/// Returns true for events that show that the lead reports the ends of turns. A push may then be presumed to begin a
/// turn.
bool tells_turns(LeadEvent);

}  // namespace inbox_poller::handlers

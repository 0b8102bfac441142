// The busy/idle gate: whether the lead is between turns. One total table over everything that tells: hook events, the
// stream of a lead that we started, reports, our own deliveries, and time. Control messages never pass through it.
// Source: docs/dev/architecture.md, "Delivery"; the hook events are those of the client's documentation (2.1.240).
#pragma once

#include <optional>
#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class LeadState {
  idle,  // between turns: chat may be handed over
  busy,  // in a turn: chat waits, unless it is overdue
  gone,  // no session: chat waits, however long
};
BOOST_DESCRIBE_ENUM(LeadState, idle, busy, gone)
inline std::string_view to_string(LeadState state) { return schema::name_of(state); }

enum class LeadEvent {
  // said in so many words (`inbox-poller lead …`)
  reports_busy,
  reports_idle,
  reports_gone,
  // hooks of the lead's session
  session_starts,
  prompt_submitted,
  tool_used,
  turn_stops,
  turn_continues,  // it wanted to stop, and was given messages instead
  turn_fails,
  turn_interrupted,  // by a person: no hook tells, the session's transcript does
  prompt_waits,      // the client tells that nobody has typed for a while
  session_ends,
  // the stream of a lead that we started
  stream_opens,
  stream_works,  // anything of a turn
  stream_result,
  stream_closes,
  // the file that its client keeps of the session, where nobody else tells
  session_works,
  session_rests,
  // our own doing
  batch_pushed,       // begins a turn by presumption, where the lead says when turns end
  busy_limit_passes,  // nobody took the busy state back: a person may have interrupted the turn
  disconnects,        // who held the lead's end went away without a word
};
BOOST_DESCRIBE_ENUM(LeadEvent, reports_busy, reports_idle, reports_gone, session_starts, prompt_submitted, tool_used,
                    turn_stops, turn_continues, turn_fails, turn_interrupted, prompt_waits, session_ends, stream_opens,
                    stream_works, stream_result, stream_closes, session_works, session_rests, batch_pushed, busy_limit_passes, disconnects)
inline std::string_view to_string(LeadEvent event) { return schema::name_of(event); }

/// The state after the event. Total.
LeadState next(LeadState, LeadEvent);

/// True when chat may be offered.
bool is_open(LeadState);

/// What the `status` that a client keeps of its session says of the lead. Nothing where a hook, a stream or a person tells
/// of its turns (`by`, the last word), and for words that are not known.
std::optional<LeadEvent> said_by_file(std::string_view status, std::string_view by, bool hooks_tell);

/// True for what shows that the lead tells when its turns end, so that a push may be presumed to begin one.
bool tells_turns(LeadEvent);

}  // namespace inbox_poller::handlers

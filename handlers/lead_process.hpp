// Whether a live client leads the team and reads the lead's inbox itself. An interactive client of 2.1.329 or newer
// writes `leadProcess` into the roster; a headless one writes nothing. The session file shows older clients
// (schema/client_session.hpp). Pure. Source: docs/adr/0020.
#pragma once

#include <optional>

#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// Evidence about the process with the claimed number.
struct LeadProcessSight {
  bool is_here = true;             // process numbers are those of this machine and container, as far as known
  bool lives = false;              // a process with this number lives
  std::optional<bool> began_then;  // started at the claimed time; empty: the two cannot be compared
  bool began_later = false;        // started after the claim was made
};

enum class LeadProcessState { gone, elsewhere, lives };
/// Returns the state of the claimed process. Total. A number alone proves nothing, because numbers are reused.
LeadProcessState state_of(const LeadProcessSight&);

/// A live session with the id that the roster names as the lead's.
struct LeadSessionSight {
  schema::ClientMode mode = schema::ClientMode::unknown;
  long long began_ms = 0;  // start of its process; 0: unknown
  long long made_ms = 0;   // creation of the team, by its roster; 0: unknown
};
/// Returns true if that client reads the lead's inbox: it does if it created the team itself. A client that resumed the
/// session (`--resume`) does not. A client whose id was written into the roster does not either (2.1.141 and 2.1.220,
/// measured).
bool reads_inbox(const LeadSessionSight&);

}  // namespace inbox_poller::handlers

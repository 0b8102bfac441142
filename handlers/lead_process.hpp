// Whether a client lives that leads the team and reads the lead's inbox itself. An interactive client of 2.1.329 or newer
// says so in the roster at its start (`leadProcess`); a headless one says nothing. Of older ones the session's file tells
// (schema/client_session.hpp). Pure. Source: docs/adr/0020.
#pragma once

#include <optional>

#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// What is to be seen of the process that has the claimed number.
struct LeadProcessSight {
  bool is_here = true;             // such numbers are those of this machine and container, as far as can be told
  bool lives = false;              // one of this number does
  std::optional<bool> began_then;  // at the moment that the claim names; empty: the two cannot be compared
  bool began_later = false;        // than the claim was made
};

enum class LeadProcessState { gone, elsewhere, lives };
/// Total. A number alone proves nothing: it may be somebody else's by now.
LeadProcessState state_of(const LeadProcessSight&);

/// A living session with the id that the roster names as the lead's.
struct LeadSessionSight {
  schema::ClientMode mode = schema::ClientMode::unknown;
  long long began_ms = 0;  // its process; 0: cannot be told
  long long made_ms = 0;   // the team, by its roster; 0: not said
};
/// Whether that client reads the lead's inbox: it does when it has made the team itself. One that took the session up
/// later (`--resume`) does not, nor does one whose id somebody wrote into the roster (2.1.141 and 2.1.220, measured).
bool reads_inbox(const LeadSessionSight&);

}  // namespace inbox_poller::handlers

// Whether the client that says in the roster that it leads the team (`leadProcess`) lives. An interactive client
// of 2.1.329 or newer says so at its start, and reads the lead's inbox from then on; a headless one says nothing. Pure.
// Source: docs/adr/0020.
#pragma once

#include <optional>

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

}  // namespace inbox_poller::handlers

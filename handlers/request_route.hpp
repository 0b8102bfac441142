// The answerers of the approval requests that no rule decides.
#pragma once

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Returns true if this request is put before the lead session. Only then may the lead's name answer it. Any other
/// name may always answer, in case the lead does not. The name in an answer is a claim, not a proof. The lead's own
/// prompts are never put before the lead.
bool asks_lead(const Request&, const TeamView&);

/// Returns true if a person is notified of this request.
bool asks_person(const Request&, const TeamView&);

/// The notifications about a request that a person has had.
struct Told {
  bool asked = false;
  bool decided = false;
};
/// Returns true if a notification is still due: of the request or, with `of_decision`, of its decision. A request that
/// was decided before its notification is not notified, and neither is its decision.
bool is_to_be_told(const Request&, const Told&, bool of_decision);

}  // namespace inbox_poller::handlers

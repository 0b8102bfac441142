// What permission, sandbox and plan asks have in common: the message that carries an answer to the asker's inbox.
// What each kind says in its answer is in permission.hpp, sandbox.hpp, plan_approval.hpp, stop.hpp. Invariant: the same
// decided request gives the same message; its timestamp is the moment of the decision.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// What an approval carries beside the yes. Each kind reads its own field.
struct Grant {
  std::string input;                                               // permission: what is to be carried out
  config::PermissionMode mode = config::PermissionMode::standard;  // plan: the worker's mode afterwards
};

/// Why the rules decided so; of a denial, the text that the asker reads. May quote the ask, so it is kept short.
std::string reason_of(const config::Verdict&);

/// What is granted when nobody says otherwise: the input as it was asked; the standard mode, or the ceiling below it.
Grant plain_grant(const Ask&, const TeamView&);

/// The answer to a request that is approved, denied or expired, as a message for the asker's inbox. A denial's text is
/// the request's `reason`. A granted wish to stop has none: a shutdown follows.
Post reply_to(const Ask& decided, const Grant&, const TeamView&);

/// A person's words for which the answer has no field (a note with an approval, a reason with a sandbox denial), as a
/// plain message that follows the answer. Clients drop words inside an approval; see docs/reference/protocol.md.
Post note_to(const Ask& decided, std::string_view words, const TeamView&);

}  // namespace inbox_poller::handlers

// The messages that carry answers to approval requests. Each kind builds its payload in permission.hpp, sandbox.hpp,
// plan_approval.hpp or stop.hpp. Invariant: the same decided request gives the same message, whose timestamp is the
// time of the decision.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The contents of an approval. Each kind reads its own field.
struct Grant {
  std::string input;                                               // permission: the input that the worker will run
  config::PermissionMode mode = config::PermissionMode::standard;  // plan: the worker's mode after the approval
};

/// Returns the reason for a rule's decision. The worker reads the reason of a denial. A verdict may quote the
/// request, so its text is cut to 300 bytes.
std::string reason_of(const config::Verdict&);

/// Returns the grant without a person's changes: the input as requested, and the standard mode or plans.ceiling if that
/// is lower.
Grant plain_grant(const Request&, const TeamView&);

/// Returns the answer to an approved, denied or expired request, for the worker's inbox. A denial contains the
/// request's `reason`. Not for an approved request to stop, which starts a shutdown instead.
Post reply_to(const Request& decided, const Grant&, const TeamView&);

/// Returns a person's words as a plain message to follow an answer that has no field for them (an approval, a sandbox
/// denial). Clients drop words inside an approval; see docs/reference/protocol.md.
Post note_to(const Request& decided, std::string_view words, const TeamView&);

}  // namespace inbox_poller::handlers

// The states of one approval request, as one total transition table. Invariant: states only move forward, and the first
// decision is final. Source: docs/dev/architecture.md, "Identity and idempotency".
#pragma once

#include <optional>
#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

BOOST_DEFINE_ENUM_CLASS(RequestKind, permission, sandbox, plan, stop)
inline std::string_view to_string(RequestKind kind) { return schema::name_of(kind); }

BOOST_DEFINE_ENUM_CLASS(RequestState, received, pending, approved, denied, expired, withdrawn, answered_elsewhere)
inline std::string_view to_string(RequestState state) { return schema::name_of(state); }

enum class RequestEvent {
  rule_allows,
  rule_denies,
  rule_asks,
  person_approves,
  person_denies,
  deadline_passes,    // always a denial
  asker_leaves,       // the worker is no longer a member
  answered_by_other,  // an answer that InboxPoller did not write was seen in the worker's inbox
};
BOOST_DESCRIBE_ENUM(RequestEvent, rule_allows, rule_denies, rule_asks, person_approves, person_denies, deadline_passes,
                    asker_leaves, answered_by_other)
inline std::string_view to_string(RequestEvent event) { return schema::name_of(event); }

/// Returns the state after the event; empty if the event is late or does not apply, which leaves the state unchanged.
std::optional<RequestState> transition(RequestState, RequestEvent);

/// Returns true for states without an answer.
bool is_open(RequestState);

}  // namespace inbox_poller::handlers

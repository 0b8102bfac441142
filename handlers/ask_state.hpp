// The life of one ask, as one total transition table. States only move forward; the first decision is final, and
// whoever comes second is told so. Source: docs/dev/architecture.md, "Identity and idempotency".
#pragma once

#include <optional>
#include <string_view>

#include "schema/names.hpp"

namespace inbox_poller::handlers {

BOOST_DEFINE_ENUM_CLASS(AskKind, permission, sandbox, plan, stop)
inline std::string_view to_string(AskKind kind) { return schema::name_of(kind); }

BOOST_DEFINE_ENUM_CLASS(AskState, received, pending, approved, denied, expired, withdrawn, answered_elsewhere)
inline std::string_view to_string(AskState state) { return schema::name_of(state); }

enum class AskEvent {
  rule_allows,
  rule_denies,
  rule_asks,
  person_approves,
  person_denies,
  deadline_passes,    // always a denial
  asker_leaves,       // the worker is no longer a member
  answered_by_other,  // somebody else's answer was seen in the worker's inbox
};
BOOST_DESCRIBE_ENUM(AskEvent, rule_allows, rule_denies, rule_asks, person_approves, person_denies, deadline_passes,
                    asker_leaves, answered_by_other)
inline std::string_view to_string(AskEvent event) { return schema::name_of(event); }

/// The state after the event; empty when the event comes too late or does not apply (the state stays as it is).
std::optional<AskState> transition(AskState, AskEvent);

/// True for states in which somebody still owes an answer.
bool is_open(AskState);

}  // namespace inbox_poller::handlers

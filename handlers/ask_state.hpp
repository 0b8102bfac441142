// The life of one ask, as one total transition table. States only move forward; the first decision is final, and
// whoever comes second is told so. Source: docs/architecture.md, "Identity and idempotency".
#pragma once

#include <optional>
#include <string_view>

namespace inbox_poller::handlers {

enum class AskKind { permission, sandbox, plan, stop };
std::string_view to_string(AskKind);
std::optional<AskKind> parse_request_kind(std::string_view);

enum class AskState { received, pending, approved, denied, expired, withdrawn, answered_elsewhere };
std::string_view to_string(AskState);
std::optional<AskState> parse_ask_state(std::string_view);

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
std::string_view to_string(AskEvent);

/// The state after the event; empty when the event comes too late or does not apply (the state stays as it is).
std::optional<AskState> transition(AskState, AskEvent);

/// True for states in which somebody still owes an answer.
bool is_open(AskState);

}  // namespace inbox_poller::handlers

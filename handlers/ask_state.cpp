#include "handlers/ask_state.hpp"

#include "handlers/enum_text.hpp"

namespace inbox_poller::handlers {

std::string_view to_string(AskKind kind) {
  switch (kind) {
    case AskKind::permission: return "permission";
    case AskKind::sandbox: return "sandbox";
    case AskKind::plan: return "plan";
    case AskKind::stop: return "stop";
  }
  return "";
}

std::string_view to_string(AskState state) {
  switch (state) {
    case AskState::received: return "received";
    case AskState::pending: return "pending";
    case AskState::approved: return "approved";
    case AskState::denied: return "denied";
    case AskState::expired: return "expired";
    case AskState::withdrawn: return "withdrawn";
    case AskState::answered_elsewhere: return "answered_elsewhere";
  }
  return "";
}

std::string_view to_string(AskEvent event) {
  switch (event) {
    case AskEvent::rule_allows: return "rule_allows";
    case AskEvent::rule_denies: return "rule_denies";
    case AskEvent::rule_asks: return "rule_asks";
    case AskEvent::person_approves: return "person_approves";
    case AskEvent::person_denies: return "person_denies";
    case AskEvent::deadline_passes: return "deadline_passes";
    case AskEvent::asker_leaves: return "asker_leaves";
    case AskEvent::answered_by_other: return "answered_by_other";
  }
  return "";
}

std::optional<AskKind> parse_request_kind(std::string_view text) { return parse_enum<AskKind>(text); }
std::optional<AskState> parse_ask_state(std::string_view text) { return parse_enum<AskState>(text); }

std::optional<AskState> transition(AskState state, AskEvent event) {
  // Each event moves exactly one state. A final state is named nowhere on the left: the first decision is the only one.
  const auto from = [state](AskState moved, AskState to) {
    return state == moved ? std::optional(to) : std::nullopt;
  };
  switch (event) {
    // A fresh ask waits for the rules, and for nobody else. A rule that is added later decides the next ask, not this.
    case AskEvent::rule_allows: return from(AskState::received, AskState::approved);
    case AskEvent::rule_denies: return from(AskState::received, AskState::denied);
    case AskEvent::rule_asks: return from(AskState::received, AskState::pending);
    case AskEvent::person_approves: return from(AskState::pending, AskState::approved);
    case AskEvent::person_denies: return from(AskState::pending, AskState::denied);
    case AskEvent::deadline_passes: return from(AskState::pending, AskState::expired);
    case AskEvent::asker_leaves: return from(AskState::pending, AskState::withdrawn);
    case AskEvent::answered_by_other: return from(AskState::pending, AskState::answered_elsewhere);
  }
  return std::nullopt;
}

bool is_open(AskState state) { return state == AskState::received || state == AskState::pending; }

}  // namespace inbox_poller::handlers

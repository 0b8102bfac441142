#include "handlers/request_state.hpp"

#include "handlers/enum_text.hpp"

namespace inbox_poller::handlers {

std::string_view to_string(RequestKind kind) {
  switch (kind) {
    case RequestKind::permission: return "permission";
    case RequestKind::sandbox: return "sandbox";
    case RequestKind::plan: return "plan";
    case RequestKind::stop: return "stop";
  }
  return "";
}

std::string_view to_string(RequestState state) {
  switch (state) {
    case RequestState::received: return "received";
    case RequestState::pending: return "pending";
    case RequestState::approved: return "approved";
    case RequestState::denied: return "denied";
    case RequestState::expired: return "expired";
    case RequestState::withdrawn: return "withdrawn";
    case RequestState::answered_elsewhere: return "answered_elsewhere";
  }
  return "";
}

std::string_view to_string(RequestEvent event) {
  switch (event) {
    case RequestEvent::rule_allows: return "rule_allows";
    case RequestEvent::rule_denies: return "rule_denies";
    case RequestEvent::rule_asks: return "rule_asks";
    case RequestEvent::person_approves: return "person_approves";
    case RequestEvent::person_denies: return "person_denies";
    case RequestEvent::deadline_passes: return "deadline_passes";
    case RequestEvent::asker_leaves: return "asker_leaves";
    case RequestEvent::answered_by_other: return "answered_by_other";
  }
  return "";
}

std::optional<RequestKind> parse_request_kind(std::string_view text) { return parse_enum<RequestKind>(text); }
std::optional<RequestState> parse_request_state(std::string_view text) { return parse_enum<RequestState>(text); }

std::optional<RequestState> transition(RequestState state, RequestEvent event) {
  // Each event moves exactly one state. A final state is named nowhere on the left: the first decision is the only one.
  const auto from = [state](RequestState moved, RequestState to) {
    return state == moved ? std::optional(to) : std::nullopt;
  };
  switch (event) {
    // A fresh ask waits for the rules, and for nobody else. A rule that is added later decides the next ask, not this.
    case RequestEvent::rule_allows: return from(RequestState::received, RequestState::approved);
    case RequestEvent::rule_denies: return from(RequestState::received, RequestState::denied);
    case RequestEvent::rule_asks: return from(RequestState::received, RequestState::pending);
    case RequestEvent::person_approves: return from(RequestState::pending, RequestState::approved);
    case RequestEvent::person_denies: return from(RequestState::pending, RequestState::denied);
    case RequestEvent::deadline_passes: return from(RequestState::pending, RequestState::expired);
    case RequestEvent::asker_leaves: return from(RequestState::pending, RequestState::withdrawn);
    case RequestEvent::answered_by_other: return from(RequestState::pending, RequestState::answered_elsewhere);
  }
  return std::nullopt;
}

bool is_open(RequestState state) { return state == RequestState::received || state == RequestState::pending; }

}  // namespace inbox_poller::handlers

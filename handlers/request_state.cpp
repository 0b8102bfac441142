#include "handlers/request_state.hpp"

namespace inbox_poller::handlers {

std::string_view to_string(RequestKind kind) {
  switch (kind) {
    case RequestKind::permission: return "permission";
    case RequestKind::sandbox: return "sandbox";
    case RequestKind::plan: return "plan";
  }
  return "";
}

std::optional<RequestKind> parse_request_kind(std::string_view text) {
  for (const RequestKind kind : {RequestKind::permission, RequestKind::sandbox, RequestKind::plan}) {
    if (to_string(kind) == text) return kind;
  }
  return std::nullopt;
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

std::optional<RequestState> parse_request_state(std::string_view text) {
  for (const RequestState state :
       {RequestState::received, RequestState::pending, RequestState::approved, RequestState::denied,
        RequestState::expired, RequestState::withdrawn, RequestState::answered_elsewhere}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
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

namespace {

/// A fresh ask waits for the rules, and for nobody else.
std::optional<RequestState> from_received(RequestEvent event) {
  switch (event) {
    case RequestEvent::rule_allows: return RequestState::approved;
    case RequestEvent::rule_denies: return RequestState::denied;
    case RequestEvent::rule_asks: return RequestState::pending;
    case RequestEvent::person_approves:
    case RequestEvent::person_denies:
    case RequestEvent::deadline_passes:
    case RequestEvent::asker_leaves:
    case RequestEvent::answered_by_other: return std::nullopt;
  }
  return std::nullopt;
}

/// The rules had their say once; a rule that is added later decides the next ask, not this one.
std::optional<RequestState> from_pending(RequestEvent event) {
  switch (event) {
    case RequestEvent::rule_allows:
    case RequestEvent::rule_denies:
    case RequestEvent::rule_asks: return std::nullopt;
    case RequestEvent::person_approves: return RequestState::approved;
    case RequestEvent::person_denies: return RequestState::denied;
    case RequestEvent::deadline_passes: return RequestState::expired;
    case RequestEvent::asker_leaves: return RequestState::withdrawn;
    case RequestEvent::answered_by_other: return RequestState::answered_elsewhere;
  }
  return std::nullopt;
}

/// The first decision is the only one.
std::optional<RequestState> from_final(RequestEvent event) {
  switch (event) {
    case RequestEvent::rule_allows:
    case RequestEvent::rule_denies:
    case RequestEvent::rule_asks:
    case RequestEvent::person_approves:
    case RequestEvent::person_denies:
    case RequestEvent::deadline_passes:
    case RequestEvent::asker_leaves:
    case RequestEvent::answered_by_other: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RequestState> transition(RequestState state, RequestEvent event) {
  switch (state) {
    case RequestState::received: return from_received(event);
    case RequestState::pending: return from_pending(event);
    case RequestState::approved:
    case RequestState::denied:
    case RequestState::expired:
    case RequestState::withdrawn:
    case RequestState::answered_elsewhere: return from_final(event);
  }
  return std::nullopt;
}

bool is_open(RequestState state) {
  switch (state) {
    case RequestState::received:
    case RequestState::pending: return true;
    case RequestState::approved:
    case RequestState::denied:
    case RequestState::expired:
    case RequestState::withdrawn:
    case RequestState::answered_elsewhere: return false;
  }
  return false;
}

}  // namespace inbox_poller::handlers

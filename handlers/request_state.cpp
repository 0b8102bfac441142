#include "handlers/request_state.hpp"

namespace inbox_poller::handlers {

std::optional<RequestState> transition(RequestState state, RequestEvent event) {
  // No event moves a final state, so the first decision is final.
  const auto from = [state](RequestState moved, RequestState to) {
    return state == moved ? std::optional(to) : std::nullopt;
  };
  switch (event) {
    // Rules decide a received request. A rule that is added later may decide a pending one.
    case RequestEvent::rule_allows: return is_open(state) ? std::optional(RequestState::approved) : std::nullopt;
    case RequestEvent::rule_denies: return is_open(state) ? std::optional(RequestState::denied) : std::nullopt;
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

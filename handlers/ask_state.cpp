#include "handlers/ask_state.hpp"

namespace inbox_poller::handlers {

std::optional<AskState> transition(AskState state, AskEvent event) {
  // No event moves a final state, so the first decision is final.
  const auto from = [state](AskState moved, AskState to) {
    return state == moved ? std::optional(to) : std::nullopt;
  };
  switch (event) {
    // Rules decide a received request. A rule that is added later may decide a pending one.
    case AskEvent::rule_allows: return is_open(state) ? std::optional(AskState::approved) : std::nullopt;
    case AskEvent::rule_denies: return is_open(state) ? std::optional(AskState::denied) : std::nullopt;
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

#include "poller/delivery/ladder.hpp"

#include <algorithm>

namespace inbox_poller::poller {

std::optional<config::Rung> choose(const std::vector<RungState>& states) {
  const auto first = std::find_if(states.begin(), states.end(), [](const RungState& state) { return state.available; });
  return first == states.end() ? std::nullopt : std::optional(first->rung);
}

}  // namespace inbox_poller::poller

#include "handlers/ladder.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

RungState state_of(config::Rung rung, const RungSight& sight, const config::DeliverySettings& delivery) {
  using config::Rung;
  const auto unless = [&](std::string why) { return RungState{rung, why.empty(), std::move(why)}; };
  if (!sight.failed.empty()) return unless(sight.failed);
  switch (rung) {
    case Rung::mcp: return unless(sight.held ? "" : "no `recv` of an `inbox-poller mcp` waits");
    case Rung::channel: return unless(sight.held ? "" : "no session acknowledges events of `inbox-poller mcp --channel`");
    case Rung::stdin_stream: return unless(sight.held ? "" : "no lead was started with `inbox-poller lead run`");
    case Rung::hook:
      if (!sight.heard_session) return unless("no hook of the lead's session was heard");
      // Its next hook takes them along; an idle session fires none by itself.
      if (sight.lead == LeadState::busy || sight.held) return unless("");
      return unless("the lead is idle, and no `hook wait` is there to wake it");
    case Rung::socket: return unless(sight.held ? "" : "nobody follows with `inbox-poller recv --follow`");
    case Rung::exec: return unless(delivery.exec.argv.empty() ? "delivery.exec is not set" : "");
    case Rung::file: return unless(delivery.file.empty() ? "delivery.file is not set" : "");
    case Rung::tmux: return unless(sight.no_pane);
  }
  return {rung, false, {}};
}

std::optional<config::Rung> choose(const std::vector<RungState>& states) {
  const auto first = std::find_if(states.begin(), states.end(), [](const RungState& state) { return state.available; });
  return first == states.end() ? std::nullopt : std::optional(first->rung);
}

}  // namespace inbox_poller::handlers

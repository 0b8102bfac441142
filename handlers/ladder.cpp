#include "handlers/ladder.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

WayState state_of(config::Way way, const WaySight& sight, const config::DeliverySettings& delivery) {
  using config::Way;
  const auto unless = [&](std::string why) { return WayState{way, why.empty(), std::move(why)}; };
  if (!sight.failed.empty()) return unless(sight.failed);
  switch (way) {
    case Way::mcp: return unless(sight.held ? "" : "no `recv` of an `inbox-poller mcp` waits");
    case Way::channel: return unless(sight.held ? "" : "no session acknowledges events of `inbox-poller mcp --channel`");
    case Way::stdin_stream: return unless(sight.held ? "" : "no lead was started with `inbox-poller lead run`");
    case Way::hook:
      if (!sight.heard_session) return unless("no hook of the lead's session was heard");
      // The next hook of a busy lead gets the messages; an idle session runs no hook by itself.
      if (sight.lead == LeadState::busy || sight.held) return unless("");
      return unless("the lead is idle, and no `hook wait` is there to wake it");
    case Way::socket: return unless(sight.held ? "" : "nobody follows with `inbox-poller recv --follow`");
    case Way::exec: return unless(delivery.exec.argv.empty() ? "delivery.exec is not set" : "");
    case Way::file: return unless(delivery.file.empty() ? "delivery.file is not set" : "");
    case Way::tmux: return unless(sight.no_pane);
  }
  return {way, false, {}};
}

std::optional<config::Way> choose(const std::vector<WayState>& states) {
  const auto first = std::find_if(states.begin(), states.end(), [](const WayState& state) { return state.available; });
  return first == states.end() ? std::nullopt : std::optional(first->way);
}

}  // namespace inbox_poller::handlers

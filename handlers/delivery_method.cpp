#include "handlers/delivery_method.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

MethodState state_of(config::DeliveryMethod method, const MethodSight& sight, const config::DeliverySettings& delivery) {
  using config::DeliveryMethod;
  const auto unless = [&](std::string why) { return MethodState{method, why.empty(), std::move(why)}; };
  if (!sight.failed.empty()) return unless(sight.failed);
  switch (method) {
    case DeliveryMethod::mcp: return unless(sight.held ? "" : "no `recv` of an `inbox-poller mcp` waits");
    case DeliveryMethod::channel: return unless(sight.held ? "" : "no session acknowledges events of `inbox-poller mcp --channel`");
    case DeliveryMethod::stdin_stream: return unless(sight.held ? "" : "no lead was started with `inbox-poller lead run`");
    case DeliveryMethod::hook:
      if (!sight.heard_session) return unless("no hook of the lead's session was heard");
      // The next hook of a busy lead gets the messages; an idle session runs no hook by itself.
      if (sight.lead == LeadState::busy || sight.held) return unless("");
      return unless("the lead is idle, and no `hook wait` is there to wake it");
    case DeliveryMethod::socket: return unless(sight.held ? "" : "no program follows with `inbox-poller recv --follow`");
    case DeliveryMethod::exec: return unless(delivery.exec.argv.empty() ? "delivery.exec is not set" : "");
    case DeliveryMethod::file: return unless(delivery.file.empty() ? "delivery.file is not set" : "");
    case DeliveryMethod::tmux: return unless(sight.no_pane);
  }
  return {method, false, {}};
}

std::optional<config::DeliveryMethod> choose(const std::vector<MethodState>& states) {
  const auto first = std::find_if(states.begin(), states.end(), [](const MethodState& state) { return state.available; });
  return first == states.end() ? std::nullopt : std::optional(first->method);
}

}  // namespace inbox_poller::handlers

#include "poller/delivery/routes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace inbox_poller::poller {

using config::DeliveryMethod;
using std::chrono::milliseconds;

namespace {

/// Time after the end of a turn in which the hook must connect, on a busy machine.
constexpr std::chrono::milliseconds wait_comes_within{10'000};

}  // namespace

bool Routes::is_attached(DeliveryMethod method) const {
  const auto found = attached_.find(method);
  return found != attached_.end() && found->second > 0;
}

MethodState Routes::state_of(DeliveryMethod method) const {
  handlers::MethodSight sight;
  if (const auto waits = backoff_.find(method); waits != backoff_.end() && waits->second.until > context_.clock.steady())
    sight.failed = waits->second.why;
  sight.held = is_attached(method);
  sight.heard_session = !lead_.row().session.empty();
  sight.lead = lead_.state();
  if (method == DeliveryMethod::tmux) sight.no_pane = tmux_.unavailable(lead_.row().pane);
  return handlers::state_of(method, sight, context_.config.delivery);
}

std::vector<MethodState> Routes::methods() const {
  std::vector<MethodState> states;
  for (const auto method : context_.config.delivery.methods) states.push_back(state_of(method));
  return states;
}

std::string Routes::why_not_woken(const handlers::ClientSight& client) const {
  const auto& via = context_.config.delivery.methods;
  if (!lead_.has_session() || is_attached(DeliveryMethod::hook) || std::find(via.begin(), via.end(), DeliveryMethod::hook) == via.end())
    return {};
  const bool was_heard = client.mode != schema::ClientMode::unknown || !client.version.empty();
  if (was_heard)
    if (auto why = handlers::why_not_woken(client); !why.empty()) return why;
  // A hook connects at the session's start and after each turn.
  if (lead_.state() != LeadState::idle || context_.clock.wall_ms() - lead_.row().since_ms < wait_comes_within.count()) return {};
  return was_heard ? "no `hook wait` came with its last event: its hooks are those of an older client; write them again, "
                     "inbox-poller hook install"
                   : "nothing was heard of it since the daemon's start; it is woken again after its next turn";
}

void Routes::went(DeliveryMethod method) {
  if (last_way_ == method) return;
  std::string reason;
  for (const auto& state : methods()) {
    if (state.method == method) break;
    reason += (reason.empty() ? "" : "; ") + std::string(config::to_string(state.method)) + ": " + state.reason;
  }
  context_.telemetry.emit(Event::delivery_method,
                          {{"team", context_.name},
                           {"old", last_way_ ? std::string(config::to_string(*last_way_)) : "none"},
                           {"new", std::string(config::to_string(method))},
                           {"reason", reason.empty() ? "the first of delivery.methods" : reason}});
  last_way_ = method;
}

void Routes::went(DeliveryMethod method, const std::string& receiver) {
  went(method);
  last_method_ = receiver;
}

void Routes::failed(DeliveryMethod method, const Error& why) {
  auto& backoff = backoff_[method];
  // Checking a file costs almost nothing, a terminal little; an obstacle there ends by itself.
  backoff.failures = std::min(backoff.failures + 1, method == DeliveryMethod::file ? 1 : method == DeliveryMethod::tmux ? 3 : 6);
  backoff.until = context_.clock.steady() + milliseconds(500LL << backoff.failures);
  if (backoff.why != why.message)  // log a repeated failure once
    context_.telemetry.emit(
        Event::delivery_failed,
        {{"team", context_.name}, {"method", std::string(config::to_string(method))}, {"reason", why.message}});
  backoff.why = why.message;
}

}  // namespace inbox_poller::poller

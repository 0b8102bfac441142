// The choice of a delivery method: the first available one in `delivery.methods`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "handlers/gate.hpp"

namespace inbox_poller::handlers {

struct MethodState {
  config::DeliveryMethod method = config::DeliveryMethod::file;
  bool available = false;
  std::string reason;  // why it is not available, for people; empty if it is
};

/// Returns true for methods by which InboxPoller pushes; with the others, a receiver fetches.
constexpr bool is_pushed(config::DeliveryMethod method) {
  return method == config::DeliveryMethod::exec || method == config::DeliveryMethod::file || method == config::DeliveryMethod::tmux;
}

/// Data known about one delivery method.
struct MethodSight {
  std::string failed;          // why it is paused after a failure; empty: it is not
  bool held = false;           // a receiver is connected
  bool heard_session = false;  // a hook of the lead's session has run
  LeadState lead = LeadState::idle;
  std::string no_pane;  // tmux: why no pane can be typed into
};
/// Returns whether the method can be used now.
MethodState state_of(config::DeliveryMethod, const MethodSight&, const config::DeliverySettings&);

/// Returns the first available method. `states`: in the order of delivery.methods.
std::optional<config::DeliveryMethod> choose(const std::vector<MethodState>& states);

}  // namespace inbox_poller::handlers

// The delivery ladder: of the ways to the lead that `delivery.via` names, the first that is available is used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "handlers/gate.hpp"

namespace inbox_poller::handlers {

struct WayState {
  config::Way way = config::Way::file;
  bool available = false;
  std::string reason;  // a few words for people: why it is not available; empty when it is
};

/// True for ways on which we act; on the others somebody comes and takes.
constexpr bool is_pushed(config::Way way) {
  return way == config::Way::exec || way == config::Way::file || way == config::Way::tmux;
}

/// What is known of one way.
struct WaySight {
  std::string failed;          // why it is left alone for now, after a failure; empty: it is not
  bool held = false;           // somebody holds its end
  bool heard_session = false;  // hooks of the lead's session were heard
  LeadState lead = LeadState::idle;
  std::string no_pane;  // tmux: why there is no pane to type into
};
/// Whether it can be used now.
WayState state_of(config::Way, const WaySight&, const config::DeliverySettings&);

/// `states` in the order of `via`. The first available one.
std::optional<config::Way> choose(const std::vector<WayState>& states);

}  // namespace inbox_poller::handlers

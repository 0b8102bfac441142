// The delivery ladder: of the ways to the lead that `delivery.via` names, the first that is available is used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace inbox_poller::poller {

struct RungState {
  config::Rung rung = config::Rung::file;
  bool available = false;
  std::string reason;  // a few words for people: why it is not available; empty when it is
};

/// True for ways on which we act; on the others somebody comes and takes.
constexpr bool is_pushed(config::Rung rung) {
  return rung == config::Rung::exec || rung == config::Rung::file || rung == config::Rung::tmux;
}

/// `states` in the order of `via`. The first available one.
std::optional<config::Rung> choose(const std::vector<RungState>& states);

}  // namespace inbox_poller::poller

// Workers that asked to stop and were granted it: begins the shutdown of each. The grant is committed first and the
// shutdown begun after, so a crash between the two is made good at the next start.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "poller/team/asks.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class Stops {
 public:
  Stops(TeamState& context, Asks& asks, Shutdowns& shutdowns)
      : context_(context), asks_(asks), shutdowns_(shutdowns) {}

  /// Picks up what was granted in the last day and not begun.
  Status restore();

  /// Begins what was granted, before Shutdowns::run_due(). Call once a tick.
  boost::asio::awaitable<void> run_due();
  [[nodiscard]] bool owes() const { return !granted_.empty() || asks_.has_granted_stops(); }

 private:
  /// True when there is nothing (more) to begin for it.
  boost::asio::awaitable<bool> begin(handlers::Ask granted);

  TeamState& context_;
  Asks& asks_;
  Shutdowns& shutdowns_;
  std::vector<handlers::Ask> granted_;
};

}  // namespace inbox_poller::poller

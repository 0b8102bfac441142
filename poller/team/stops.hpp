// Starts the shutdown of each worker whose own shutdown request was approved. The approval is committed first. After a
// crash between the two, the next start begins the shutdown.
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

  /// Loads the approvals of the last day without a shutdown. Errors: ledger.*.
  Status restore();

  /// Starts the approved shutdowns. Call once a tick, before Shutdowns::run_due().
  boost::asio::awaitable<void> run_due();
  [[nodiscard]] bool owes() const { return !granted_.empty() || asks_.has_granted_stops(); }

 private:
  /// True when nothing is left to start for this request.
  boost::asio::awaitable<bool> begin(handlers::Ask granted);

  TeamState& context_;
  Asks& asks_;
  Shutdowns& shutdowns_;
  std::vector<handlers::Ask> granted_;
};

}  // namespace inbox_poller::poller

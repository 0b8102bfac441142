// Starts the shutdown of each worker whose own shutdown request was approved. The approval is committed first. After a
// crash between the two, the next start begins the shutdown.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "poller/team/requests.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class RuleGrants {
 public:
  RuleGrants(TeamState& context, Requests& requests, Shutdowns& shutdowns)
      : context_(context), requests_(requests), shutdowns_(shutdowns) {}

  /// Loads the approvals of the last day without a shutdown. Errors: ledger.*.
  Status restore();

  /// Starts the approved shutdowns. Call once a tick, before Shutdowns::run_due().
  boost::asio::awaitable<void> run_due();
  [[nodiscard]] bool owes() const { return !grants_.empty() || requests_.has_granted_stops(); }

 private:
  /// True when nothing is left to start for this request.
  boost::asio::awaitable<bool> begin(handlers::Request granted);

  TeamState& context_;
  Requests& requests_;
  Shutdowns& shutdowns_;
  std::vector<handlers::Request> grants_;
};

}  // namespace inbox_poller::poller

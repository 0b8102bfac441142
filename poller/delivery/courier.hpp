// Chat on its way to one team's lead: the gate's state, what is lent out to whom, and the push to configured sinks.
// Invariant: a message leaves the queue only by an acknowledgement (delivered); everything else puts it back, and its
// next offer is labelled as a possible repeat.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/team_context.hpp"
#include "poller/delivery/gate.hpp"
#include "poller/delivery/sinks.hpp"

namespace inbox_poller::poller {

class Courier {
 public:
  Courier(TeamContext& context, FileSystem& files) : context_(context), files_(files) {}

  /// The lead's state from before a restart. A busy report goes on running out.
  Status restore();

  [[nodiscard]] LeadState lead_state() const { return state_; }
  [[nodiscard]] const LeadRow& lead_row() const { return row_; }

  /// A report about the lead session; `limit` bounds a busy report (default: delivery.busy_limit).
  Status report(LeadEvent event, std::optional<config::Duration> limit);

  /// Ends busy reports and leases that have run out. Call once a tick.
  void settle();

  /// Lends out at most `max` messages in arrival order; none while the gate is closed unless `even_busy`. With a
  /// `lease` they come back by themselves when it runs out; without one the borrower's connection is the lease.
  Result<std::vector<OutgoingMessage>> offer(std::size_t max, const std::string& sink, bool even_busy,
                                             std::optional<config::Duration> lease);
  /// The borrower has them. Unknown keys are skipped; returns how many were newly delivered.
  Result<std::size_t> acknowledge(const std::vector<std::string>& keys);
  /// The borrower went away: those still offered are queued again.
  void give_back(const std::vector<OutgoingMessage>&);

  /// Takes back everything that is lent out for a time: the team is no longer served.
  void recall();

  /// Pushes what may be offered to the configured sinks (exec, then file), batch by batch, until there is nothing more
  /// to push.
  boost::asio::awaitable<void> push();

  [[nodiscard]] bool has_push_sink() const;

 private:
  void go_to(LeadState, EpochMs until_ms);
  void take_back(const std::vector<long long>& ids, std::string_view reason);
  boost::asio::awaitable<bool> push_batch();

  TeamContext& context_;
  FileSystem& files_;
  LeadState state_ = LeadState::idle;
  LeadRow row_{"idle", 0, 0};
  std::optional<SteadyTime> busy_until_;
  std::map<long long, SteadyTime> leases_;  // message id -> when it comes back by itself
  std::optional<SteadyTime> push_after_;    // back-off after a sink failed
  int push_failures_ = 0;
};

}  // namespace inbox_poller::poller

// When a claimed task may be returned. A lease is over only if two clocks agree: the system clock and one that never
// jumps. A system clock that was set forward therefore takes no task from its holder. If a lease's end is too far away
// for a correct clock, the time since the claim was first seen decides. Source: docs/reference/mailboxes.md.
#pragma once

#include <optional>

namespace inbox_poller::handlers {

/// A claim as read. All values in seconds; times since the Unix epoch.
struct ClaimSeen {
  std::optional<double> claimed_at, expires_at;
  double system_now = 0;  // the system clock, with which the peers stamp
  double even_now = 0;    // the system clock at the daemon's start, advanced evenly
  double seen_for = 0;    // time since this claim was first seen
};

/// Returns true if no peer can hold the claim any more. A claim without a lease ends after two default leases: its
/// claimer died while it claimed, or is still claiming.
bool lease_is_over(const ClaimSeen&, double default_lease);

/// Returns true if both clocks are past its end, without a grace.
bool lease_has_ended(const ClaimSeen&);

/// Returns how often a task was claimed: the number written in the task, plus one if the last claim did not count
/// itself.
long long attempts_so_far(std::optional<double> written, bool counted);

}  // namespace inbox_poller::handlers

// When a claimed task may be given back, and when it is given to nobody any more.
// Two clocks are asked, the system's as it stands and ours that never jumps: a lease is over when both say so, so that
// a clock that is put forward takes nothing from whoever holds it. Where a clock cannot be right, what counts is how
// long we have watched the claim. Source: docs/reference/mailboxes.md.
#pragma once

#include <optional>

namespace inbox_poller::handlers {

/// A claim as it was read. All in seconds; moments since the Unix epoch.
struct ClaimSeen {
  std::optional<double> claimed_at, expires_at;
  double system_now = 0;  // as the peers have it, who stamp with it
  double even_now = 0;    // the same when we started, and even from there
  double seen_for = 0;    // since we first saw this claim as it is
};

/// True when nobody can hold it any more. A claim without a lease is one whose claimer died in the middle, or is there
/// right now: it gets two leases of time.
bool lease_is_over(const ClaimSeen&, double default_lease);

/// True when both clocks are past its end, be it within the grace.
bool lease_has_ended(const ClaimSeen&);

/// How often a task was handed out: what stands in it, where its last claim counted itself; one more where it did not.
long long attempts_so_far(std::optional<double> written, bool counted);

}  // namespace inbox_poller::handlers

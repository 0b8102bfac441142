// The lease of leadership in a team on several nodes. The holder renews the lease and stops deciding before the lease
// ends. A node that was paused finds its lease over by its own clock. All times are of one monotonic clock. Pure.
// Source: docs/adr/0042-nodes.md.
#pragma once

#include <chrono>
#include <cstdint>

namespace inbox_poller::handlers {

using Moment = std::chrono::milliseconds;

/// The duration of a lease, as Redis grants it.
inline constexpr Moment lease_lasts{10'000};
inline constexpr Moment renew_every{3'000};
/// The last part of a lease, without decisions, because a running commit may take so long.
inline constexpr Moment decide_until_before{2'000};
/// The time between two attempts to get the lease.
inline constexpr Moment elect_every{2'000};

struct Lease {
  bool held = false;
  std::int64_t epoch = 0;  // with `held`
  Moment until{0};         // the earliest time at which Redis may grant it to another node
  Moment tried{-elect_every};  // last attempt
};

enum class LeaseStep {
  wait,
  elect,     // request the lease
  renew,     // extend the lease
  give_up,   // resign: it is nearly over, or not wanted any more
};

/// Returns true if this node may decide under the lease now.
bool may_decide(const Lease&, Moment now);

/// Returns the next action. `wanted`: this node may lead, and no command forbids it.
LeaseStep next_step(const Lease&, bool wanted, Moment now);

/// Returns the time at which next_step() may return another step than `wait`, if nothing happens before.
Moment next_moment(const Lease&, bool wanted, Moment now);

/// Returns the lease after a grant of `left` that was requested at `asked`. Counts from before the request.
Lease granted(std::int64_t epoch, Moment left, Moment asked);
/// Returns the lease after a refusal or a Redis server without an answer. A held lease goes on until its own end in the
/// second case.
Lease refused(Lease, Moment asked, bool by_the_engine);

}  // namespace inbox_poller::handlers

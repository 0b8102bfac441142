// Who leads a team of several hosts: one of them has a lease, renews it, and decides nothing any more before it ends.
// Whoever was stopped for a while finds it over, by his own clock. All moments are of one monotonic clock. Pure.
// Source: docs/adr/0044-hosts.md.
#pragma once

#include <chrono>
#include <cstdint>

namespace inbox_poller::handlers {

using Moment = std::chrono::milliseconds;

/// As the engine gives it.
inline constexpr Moment lease_lasts{10'000};
inline constexpr Moment renew_every{3'000};
/// Before its end nothing is decided any more: a commit that is under way may take so long.
inline constexpr Moment decide_until_before{2'000};
/// Between two tries to get it.
inline constexpr Moment elect_every{2'000};

struct Lease {
  bool held = false;
  std::int64_t epoch = 0;  // with `held`
  Moment until{0};         // when the engine may give it to somebody else, at the earliest
  Moment tried{-elect_every};  // when it was last asked for
};

enum class LeaseStep {
  wait,
  elect,     // ask for it
  renew,     // ask for more of it
  give_up,   // it is over, or not wanted any more: resign
};

/// Whether anything may be decided under it now.
bool may_decide(const Lease&, Moment now);

/// What is to be done now. `wanted`: this host may lead, and nobody said otherwise.
LeaseStep next_step(const Lease&, bool wanted, Moment now);

/// When next_step() has something else to say than `wait`, if nothing happens.
Moment next_moment(const Lease&, bool wanted, Moment now);

/// After the engine gave it for so long, asked at `asked`: counted from before the question.
Lease granted(std::int64_t epoch, Moment left, Moment asked);
/// After it was refused, or the engine said nothing: a lease that is held goes on until its own end.
Lease refused(Lease, Moment asked, bool by_the_engine);

}  // namespace inbox_poller::handlers

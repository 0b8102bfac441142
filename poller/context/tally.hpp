// Counters of a team since the start, for `status` and metrics; in memory only. Invariant: the number of counters is
// bounded by kinds, outcomes and few names, whatever the workers do.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace inbox_poller::poller {

/// Histogram of durations: a count per upper bound, a count and a sum.
template <std::size_t N>
struct Spread {
  explicit Spread(const std::array<long long, N>& bounds_ms) : bounds(bounds_ms) {}
  void add(long long ms) {
    for (std::size_t i = 0; i < N; ++i) up_to[i] += ms <= bounds[i] ? 1 : 0;
    ++count;
    sum_ms += std::max(ms, 0LL);
  }

  std::array<long long, N> bounds;
  std::array<std::uint64_t, N> up_to{};
  std::uint64_t count = 0;
  long long sum_ms = 0;
};

class Tally {
 public:
  struct Decision {
    std::string kind, outcome, by;  // `by` as in the record
    auto operator<=>(const Decision&) const = default;
  };

  /// Counts a decision. `waited_ms` is the time since the request; negative: it waited for no person or lead.
  void decided(Decision decision, long long waited_ms) {
    if (waited_ms >= 0) waits.add(waited_ms);
    const auto known = decisions.find(decision);
    if (known == decisions.end() && decisions.size() >= most_decisions) decision.by.clear();
    ++decisions[std::move(decision)];
  }
  /// Adds the time from the start of a successful scan to its commit.
  void accepted(std::chrono::milliseconds took) { accepts.add(took.count()); }

  /// Counts a poll that starts `since` after the previous one. Late means after more than four intervals (of at least
  /// 500 ms each). Then `poll_interval` is not kept.
  void polled(std::chrono::milliseconds since, std::chrono::milliseconds interval, long long now_ms) {
    polled_ms = now_ms;
    if (since <= 4 * std::max(interval, std::chrono::milliseconds(500))) return;
    ++late_polls;
    late_ms = now_ms;
    latest = std::max(latest, since);
  }

  long long polled_ms = 0;  // when the last poll began
  long long late_ms = 0;    // when the last late one began
  std::uint64_t late_polls = 0;
  std::chrono::milliseconds latest{0};
  std::map<Decision, std::uint64_t> decisions;
  Spread<6> waits{{1'000, 5'000, 15'000, 60'000, 300'000, 1'800'000}};
  Spread<7> accepts{{5, 10, 25, 50, 100, 250, 1'000}};

 private:
  static constexpr std::size_t most_decisions = 200;  // bound, because `by` may be any name
};

}  // namespace inbox_poller::poller

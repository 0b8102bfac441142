#include "handlers/task_lease.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

namespace {

constexpr double grace = 1;  // tolerates a heartbeat that is a little late
constexpr double longest_watched = 24 * 3600;
constexpr double most_attempts = 1e6;

bool is_over_by(double now, const ClaimSeen& seen, double default_lease) {
  if (*seen.expires_at - now <= 10 * default_lease) return *seen.expires_at + grace < now;
  // A time so far away means that a clock was set: the lease's length then counts from the first sight of the claim.
  const double length = seen.claimed_at ? *seen.expires_at - *seen.claimed_at : default_lease;
  return seen.seen_for > std::clamp(length, default_lease, longest_watched) + grace;
}

}  // namespace

bool lease_is_over(const ClaimSeen& seen, double default_lease) {
  if (!seen.expires_at) return seen.seen_for >= 2 * default_lease;
  return is_over_by(seen.system_now, seen, default_lease) && is_over_by(seen.even_now, seen, default_lease);
}

bool lease_has_ended(const ClaimSeen& seen) {
  return seen.expires_at && *seen.expires_at < seen.system_now && *seen.expires_at < seen.even_now;
}

long long attempts_so_far(std::optional<double> written, bool counted) {
  const auto before = static_cast<long long>(std::clamp(written.value_or(0), 0.0, most_attempts));
  return counted ? before : before + 1;
}

}  // namespace inbox_poller::handlers

#include "handlers/lease.hpp"

#include <algorithm>

namespace inbox_poller::handlers {

bool may_decide(const Lease& lease, Moment now) { return lease.held && now < lease.until - decide_until_before; }

LeaseStep next_step(const Lease& lease, bool wanted, Moment now) {
  if (lease.held && (!wanted || !may_decide(lease, now))) return LeaseStep::give_up;
  if (!wanted) return LeaseStep::wait;
  if (lease.held) return now - lease.tried >= renew_every ? LeaseStep::renew : LeaseStep::wait;
  return now - lease.tried >= elect_every ? LeaseStep::elect : LeaseStep::wait;
}

Moment next_moment(const Lease& lease, bool wanted, Moment now) {
  if (next_step(lease, wanted, now) != LeaseStep::wait) return now;
  if (!lease.held) return wanted ? lease.tried + elect_every : now + renew_every;
  return std::min(lease.tried + renew_every, lease.until - decide_until_before);
}

Lease granted(std::int64_t epoch, Moment left, Moment asked) {
  return {true, epoch, asked + std::min(left, lease_lasts), asked};
}

Lease refused(Lease lease, Moment asked, bool by_the_engine) {
  if (by_the_engine) return {false, 0, Moment{0}, asked};
  if (!lease.held) {
    lease.tried = asked;
    return lease;
  }
  // Renewed again soon, so that one slow answer does not lose a lease that is nearly over.
  lease.tried = asked - renew_every + elect_every / 2;
  return lease;
}

}  // namespace inbox_poller::handlers

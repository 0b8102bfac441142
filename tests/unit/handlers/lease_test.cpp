#include "handlers/lease.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::lease_test {

using namespace inbox_poller::handlers;
using namespace std::chrono_literals;

TEST_CASE("a lease is asked for, renewed in time, and given up before the engine may give it away") {
  Lease lease;
  CHECK(next_step(lease, true, 0s) == LeaseStep::elect);
  lease = granted(7, 10s, 100ms);
  CHECK(lease.epoch == 7);
  CHECK(lease.until == 10'100ms);  // from before the question
  CHECK(next_step(lease, true, 3s) == LeaseStep::wait);
  CHECK(next_moment(lease, true, 3s) == 3'100ms);
  CHECK(next_step(lease, true, 3'100ms) == LeaseStep::renew);
  CHECK(may_decide(lease, 8'099ms));
  CHECK_FALSE(may_decide(lease, 8'100ms));
  CHECK(next_step(lease, true, 8'100ms) == LeaseStep::give_up);
}

TEST_CASE("a lease that cannot be renewed is tried again, and lasts no longer for it") {
  const auto before = granted(7, 10s, 0s);
  const auto lease = refused(before, 3s, false);
  CHECK(lease.held);
  CHECK(lease.until == before.until);
  CHECK(next_step(lease, true, 3'999ms) == LeaseStep::wait);
  CHECK(next_step(lease, true, 4s) == LeaseStep::renew);
}

TEST_CASE("who is told that another leads decides nothing any more, and asks again later") {
  const auto lease = refused(granted(7, 10s, 0s), 3s, true);
  CHECK_FALSE(may_decide(lease, 3s));
  CHECK(next_step(lease, true, 4s) == LeaseStep::wait);
  CHECK(next_moment(lease, true, 4s) == 5s);
  CHECK(next_step(lease, true, 5s) == LeaseStep::elect);
}

TEST_CASE("who must not lead asks for nothing, and gives back what he has") {
  CHECK(next_step(Lease{}, false, 100s) == LeaseStep::wait);
  CHECK(next_step(granted(7, 10s, 0s), false, 1s) == LeaseStep::give_up);
}

TEST_CASE("no engine gives a lease for longer than everybody counts with") {
  CHECK(granted(1, 1h, 0s).until == lease_lasts);
  CHECK(next_step(refused(Lease{}, 50s, false), true, 51s) == LeaseStep::wait);
  CHECK(next_step(refused(Lease{}, 50s, false), true, 52s) == LeaseStep::elect);
}

}  // namespace inbox_poller::lease_test

#include "handlers/task_lease.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::task_lease_test {

using namespace inbox_poller::handlers;

namespace {

constexpr double lease = 120;
constexpr double now = 1'771'234'567;

ClaimSeen claim(double expires_in, double seen_for = 0) { return {now - 10, now + expires_in, now, now, seen_for}; }

}  // namespace

TEST_CASE("A lease is over a second after its end") {
  CHECK_FALSE(lease_is_over(claim(60), lease));
  CHECK_FALSE(lease_is_over(claim(-0.5), lease));
  CHECK(lease_is_over(claim(-1.5), lease));
}

TEST_CASE("A lease has ended when both clocks are past it") {
  CHECK_FALSE(lease_has_ended({1000, 1120, 1120, 1120, 0}));
  CHECK(lease_has_ended({1000, 1120, 1120.5, 1120.5, 0}));
  CHECK_FALSE(lease_has_ended({1000, 1120, 1121, 1119, 0}));
  CHECK_FALSE(lease_has_ended({1000, 1120, 1119, 1121, 0}));
  CHECK_FALSE(lease_has_ended({1000, std::nullopt, 1200, 1200, 1000}));
}

TEST_CASE("A claim without a lease has two leases of time from when it was first seen") {
  ClaimSeen seen{{}, {}, now, now, 0};
  CHECK_FALSE(lease_is_over(seen, lease));
  seen.seen_for = 239;
  CHECK_FALSE(lease_is_over(seen, lease));
  seen.seen_for = 240;
  CHECK(lease_is_over(seen, lease));
}

TEST_CASE("A clock that is put forward takes nothing from whoever holds it") {
  ClaimSeen seen = claim(100);
  seen.system_now = now + 3600;
  CHECK_FALSE(lease_is_over(seen, lease));
  seen.even_now = now + 102;
  seen.system_now = now + 3702;
  CHECK(lease_is_over(seen, lease));
}

TEST_CASE("A lease written after the clock was put forward ends when the clock says so") {
  ClaimSeen seen{now + 3600, now + 3720, now + 3600, now, 0};  // far away on the even scale: watched
  CHECK_FALSE(lease_is_over(seen, lease));
  seen.system_now = now + 3722;
  seen.even_now = now + 122;
  seen.seen_for = 122;
  CHECK(lease_is_over(seen, lease));
}

TEST_CASE("A lease from before the clock was put back counts from when it was first seen") {
  ClaimSeen seen{now, now + 120, now - 86400, now + 5, 5};
  CHECK_FALSE(lease_is_over(seen, lease));
  seen.seen_for = 122;
  seen.even_now = now + 122;
  CHECK(lease_is_over(seen, lease));
}

TEST_CASE("A lease for ever is watched for a day at most, and a long one for its length") {
  CHECK(lease_is_over(claim(1e300, 86402), lease));
  CHECK_FALSE(lease_is_over(claim(1e300, 86400), lease));
  CHECK_FALSE(lease_is_over(claim(3600, 3000), lease));
  CHECK(lease_is_over(claim(3600, 3612), lease));
}

TEST_CASE("A claim that did not count itself is counted by whoever gives it back") {
  CHECK(attempts_so_far({}, false) == 1);
  CHECK(attempts_so_far(2, false) == 3);
  CHECK(attempts_so_far(2, true) == 2);
  CHECK(attempts_so_far(-5, true) == 0);
  CHECK(attempts_so_far(1e300, false) == 1'000'001);
}

}  // namespace inbox_poller::task_lease_test

#include "handlers/team_point.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::team_point_test {

TEST_CASE("a team is at a point when nothing stands against it") {
  const TeamCounts nobody;
  CHECK(is_at(TeamPoint::idle, nobody));
  CHECK(is_at(TeamPoint::closed, nobody));
  CHECK(is_at(TeamPoint::answered, nobody));
  CHECK_FALSE(is_at(TeamPoint::mail, nobody));

  CHECK_FALSE(is_at(TeamPoint::idle, {.present = 2, .working = 1}));
  CHECK(is_at(TeamPoint::idle, {.present = 2, .mail = 1}));
  CHECK_FALSE(is_at(TeamPoint::closed, {.present = 1}));
  CHECK_FALSE(is_at(TeamPoint::closed, {.shutdowns = 1}));  // its pane may still be there
  CHECK(is_at(TeamPoint::mail, {.mail = 1}));
  CHECK_FALSE(is_at(TeamPoint::answered, {.requests = 1}));
}

TEST_CASE("who failed works no more, who is silent may") {
  for (const auto state : {WorkerState::busy, WorkerState::waiting, WorkerState::unresponsive}) CHECK(is_working(state));
  for (const auto state : {WorkerState::idle, WorkerState::failed, WorkerState::gone}) CHECK_FALSE(is_working(state));
}

}  // namespace inbox_poller::handlers::team_point_test

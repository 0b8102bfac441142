#include "handlers/worker_state.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::worker_state_test {

using testing::noon;

namespace {

constexpr config::Duration ten_minutes = std::chrono::minutes(10);

/// A worker of the roster that was heard of this long ago.
std::string_view state(WorkerReport report, bool active, EpochMs ago_ms, std::uint32_t open_requests = 0) {
  const WorkerSigns signs{.present = true,
                          .active = active,
                          .last_report = report,
                          .open_requests = open_requests,
                          .last_seen_ms = noon - ago_ms};
  return to_string(state_of(signs, ten_minutes, noon));
}

}  // namespace

TEST_CASE("a worker's state follows its last report") {
  CHECK(state(WorkerReport::none, true, 0) == "busy");
  CHECK(state(WorkerReport::assigned, true, 0) == "busy");
  CHECK(state(WorkerReport::completed, true, 0) == "busy");
  CHECK(state(WorkerReport::idle, true, 0) == "idle");
  CHECK(state(WorkerReport::failed, true, 0) == "failed");
  CHECK(state(WorkerReport::interrupted, true, 0) == "failed");
}

TEST_CASE("the roster's word that a turn has ended is as good as a report, but hides no failure") {
  CHECK(state(WorkerReport::none, false, 0) == "idle");
  CHECK(state(WorkerReport::assigned, false, 0) == "idle");
  CHECK(state(WorkerReport::failed, false, 0) == "failed");
}

TEST_CASE("only who should be working can be silent, and only after the whole time") {
  CHECK(state(WorkerReport::assigned, true, ten_minutes.count()) == "busy");
  CHECK(state(WorkerReport::assigned, true, ten_minutes.count() + 1) == "unresponsive");
  CHECK(state(WorkerReport::none, true, ten_minutes.count() + 1) == "unresponsive");
  CHECK(state(WorkerReport::idle, true, ten_minutes.count() + 1) == "idle");
  CHECK(state(WorkerReport::failed, true, ten_minutes.count() + 1) == "failed");
  CHECK(state(WorkerReport::assigned, true, ten_minutes.count() + 1, 1) == "waiting");
}

TEST_CASE("an open request goes before what was reported, and absence before everything") {
  CHECK(state(WorkerReport::idle, false, 0, 1) == "waiting");
  CHECK(state(WorkerReport::failed, true, 0, 2) == "waiting");
  WorkerSigns signs;
  signs.present = false;
  signs.open_requests = 1;
  signs.last_report = WorkerReport::failed;
  CHECK(state_of(signs, ten_minutes, noon) == WorkerState::gone);
}

TEST_CASE("who was sent a text works until he is heard of, whatever he reported before") {
  for (const auto report : {WorkerReport::idle, WorkerReport::failed, WorkerReport::none}) {
    WorkerSigns signs{.active = false, .last_report = report, .last_seen_ms = noon - 5'000, .told_ms = noon - 1'000};
    CHECK(state_of(signs, ten_minutes, noon) == WorkerState::busy);
    signs.told_ms = signs.last_seen_ms;
    CHECK(state_of(signs, ten_minutes, noon) != WorkerState::busy);
    signs.last_seen_ms = noon - 2 * ten_minutes.count();
    signs.told_ms = noon - ten_minutes.count();
    CHECK(state_of(signs, ten_minutes, noon) == WorkerState::busy);  // counted from what we sent
    CHECK(state_of(signs, ten_minutes, noon + 1) == WorkerState::unresponsive);
  }
}

}  // namespace inbox_poller::handlers::worker_state_test

// A team whose workers take answers from their own lead only: its lead has died, so nobody can tell their processes.
#include <sqlite3.h>

#include "tests/support/contains.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_verified_test {

using namespace inbox_poller::poller;
using handlers::RequestEvent;
using test::Contains;
using test::FileWorld;
using test::World;
using namespace std::chrono_literals;

namespace {

void sign(World& world) {
  auto roster = std::string(test::kRoster);
  roster.insert(roster.find("\"members\""), R"("leadProcess": {"pid": 2147483632, "procStart": "1"}, )");
  test::replace(world.scratch.path("teams/t/config.json"), roster);
}

std::size_t times(const World& world, const std::string& event) {
  const auto log = world.log();
  std::size_t count = 0;
  for (auto at = log.find('"' + event + '"'); at != std::string::npos; at = log.find('"' + event + '"', at + 1))
    ++count;
  return count;
}

std::string idle() {
  return R"({"type":"idle_notification","from":"w1","timestamp":"2026-02-07T15:20:46.348Z","idleReason":"available"})";
}

struct Signed : World {
  explicit Signed(config::Answerer route = config::Answerer::person)
      : World([route](config::TeamConfig& team_config) { team_config.permissions.approver = route; }) {
    sign(*this);
  }
  void requests() {
    write_lead({entry("w1", request("perm-1", "git status"), 1), entry("w1", request("perm-2", "make install"), 2)});
    poll();
  }
  void pass(std::chrono::minutes time) {
    for (; time > 0min; time -= 1min, clock.advance(1min)) poll();
  }
};

}  // namespace

TEST_CASE(
    "requests that cannot be answered from here wait without a deadline and are told of once, also after a restart") {
  for (const bool restarts : {false, true}) {
    Signed world(config::Answerer::both);
    world.requests();
    if (restarts) world.restart();
    world.pass(30min);
    CHECK(world.inbox("w1").empty());
    CHECK(world.all_read());
    CHECK(world.receive().empty());  // the lead's session could answer it no more than we can
    const auto open = world.team->requests().open();
    REQUIRE(open.size() == 2);
    for (const auto& request : open) {
      CHECK(request.deadline_ms == 0);
      CHECK_THAT(request.reason, Contains("w1 takes answers from its own lead only"));
    }
    CHECK_THAT(open.front().reason, Contains("the rules say allow"));
    CHECK(times(world, "request.unanswered") == 2);
    CHECK(times(world, "worker.verifies_lead") == 1);
    CHECK_FALSE(world.logged("request.decided"));
  }
}

TEST_CASE("nothing is told of requests that no commit recorded, and all of it once one does") {
  Signed world;
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &other) == SQLITE_OK);
  const char* hinder = "CREATE TRIGGER late BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'no'); END";
  REQUIRE(sqlite3_exec(other, hinder, nullptr, nullptr, nullptr) == SQLITE_OK);
  world.requests();
  CHECK_FALSE(world.logged("worker.verifies_lead"));
  const char* undo = "DROP TRIGGER late";
  REQUIRE(sqlite3_exec(other, undo, nullptr, nullptr, nullptr) == SQLITE_OK);
  world.poll();
  CHECK(times(world, "worker.verifies_lead") == 1);
  REQUIRE(sqlite3_exec(other, hinder, nullptr, nullptr, nullptr) == SQLITE_OK);
  world.pass(30min);
  CHECK_FALSE(world.logged("request.unanswered"));
  REQUIRE(sqlite3_exec(other, undo, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  world.pass(2min);
  CHECK(times(world, "request.unanswered") == 2);
}

TEST_CASE("no person's answer is taken for it, and the end of its turn closes it") {
  Signed world;
  world.requests();
  for (const auto event : {RequestEvent::person_approves, RequestEvent::person_denies}) {
    handlers::Answer answer;
    answer.event = event;
    answer.by = "ann";
    const auto outcome = world.team->requests().answer(world.team->requests().open().front(), answer, true);
    REQUIRE(std::holds_alternative<Requests::Refusal>(outcome));
    CHECK(std::get<Requests::Refusal>(outcome).code == "worker.verifies_lead");
  }
  CHECK(world.team->context().rules.of_session().empty());
  world.write_lead({World::entry("w1", idle(), 3)});
  world.poll();
  CHECK(world.team->requests().open().empty());
  CHECK(world.inbox("w1").empty());
  CHECK((*world.ledger->requests().find("t", {handlers::RequestKind::permission, "w1", "perm-2"}))->state ==
        handlers::RequestState::answered_elsewhere);
}

TEST_CASE("a request from before is not denied at its deadline, once answers do not count any more") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-2", "make install"), 2)});
  world.poll();
  REQUIRE(world.team->requests().open().at(0).deadline_ms != 0);
  sign(world);
  for (int n = 0; n < 30; ++n, world.clock.advance(1min)) world.poll();
  CHECK(world.inbox("w1").empty());
  CHECK(world.team->requests().open().size() == 1);
  CHECK(times(world, "request.unanswered") == 1);
  CHECK_FALSE(world.logged("request.decided"));
}

TEST_CASE("where nothing shows a lead that signs, a rule's answer is written as ever") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
  CHECK_FALSE(world.logged("worker.verifies_lead"));
}

TEST_CASE("the requests of a worker that was ended are withdrawn, those of another one or of a later one are not") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-2", "make install"), 2),
                    World::entry("w2", World::request("perm-3", "make install", "w2"), 3)});
  world.poll();
  const auto now = world.clock.wall_ms();
  world.clock.advance(1s);
  world.write_lead({World::entry("w1", World::request("perm-4", "make install"), 4)});
  world.poll();
  REQUIRE(world.team->requests().open().size() == 3);
  world.team->requests().ended("w1", now, 0, "w1 was ended (shutdown-1@w1)");
  std::vector<std::string> left;
  for (const auto& request : world.team->requests().open()) left.push_back(request.request_id);
  CHECK(left == std::vector<std::string>{"perm-3", "perm-4"});
  const auto closed = *world.ledger->requests().find("t", {handlers::RequestKind::permission, "w1", "perm-2"});
  CHECK(closed->state == handlers::RequestState::withdrawn);
  CHECK(closed->decided_by == "shutdown");
  world.poll();
  CHECK(world.inbox("w1").empty());
}

TEST_CASE(
    "requests whose answers count again get a deadline of ours, but not while we have given way to another lead") {
  Signed world;
  world.requests();
  test::replace(world.scratch.path("teams/t/config.json"), test::kRoster);
  world.poll();
  world.clock.advance(31s);
  auto& requests = world.team->requests();
  auto& role = world.team->context().membership.role;
  role = handlers::EffectiveRole::paused;
  requests.run_due();
  for (const auto& request : requests.open()) CHECK(request.deadline_ms == 0);
  role = handlers::EffectiveRole::leader;
  requests.run_due();
  REQUIRE(requests.open().size() == 1);  // a rule has answered the other one
  for (const auto& request : requests.open()) CHECK(request.deadline_ms != 0);
  world.clock.advance(1h);
  role = handlers::EffectiveRole::paused;
  requests.run_due();
  CHECK(requests.open().size() == 1);
  role = handlers::EffectiveRole::leader;
  world.poll();
  CHECK(requests.open().empty());
  CHECK(world.inbox("w1").size() == 2);
}

TEST_CASE("an answer that is still to be written is not, once its worker would refuse it; plain words are") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  const auto row_now = [&] { return world.ledger->outbox().of_request("t", "perm-1")->at(0); };
  REQUIRE(world.ledger->outbox().set(row_now().id, EffectState::pending, 1, 0, "written over"));
  world.write("w1", {});
  sign(world);
  world.restart();
  world.poll();
  CHECK(world.inbox("w1").empty());
  CHECK(row_now().state == EffectState::dead);
  CHECK_THAT(row_now().last_problem, Contains("w1 takes answers from its own lead only"));
  CHECK(times(world, "reply.failed") == 1);
  REQUIRE(world.team->send("w1", "hello", ""));
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
}

TEST_CASE("in front of a lead, a repeated request whose asker would refuse our answer is left to that lead") {
  World world([](config::TeamConfig& team_config) { team_config.team.role = config::Role::interceptor; });
  const auto first = World::entry("w1", World::request("perm-1", "git status"), 1);
  world.write_lead({first});
  world.poll();
  REQUIRE(world.inbox("w1").size() == 1);
  sign(world);
  for (const bool restarts : {false, true}) {
    if (restarts) world.restart();
    world.write_lead({first, World::entry("w1", World::request("perm-1", "git status"), 2)});
    world.poll();
    CHECK_FALSE(world.inbox("team-lead").at(1).at("read").as_bool());
  }
}

TEST_CASE("a repeated request gets its answer again, and nothing else that went out under the id it chose") {
  World world;
  for (const char* name : {"w1", "w2"}) {
    OutboxRow order;
    order.team = "t";
    order.batch = 1000;
    order.inbox = name;
    order.key = {std::string(32, name[1])};
    order.message = {
        "team-lead",
        R"({"type":"shutdown_request","requestId":"perm-1","from":"team-lead","reason":"r","timestamp":"t"})",
        "",
        "t",
        "",
        "id"};
    order.request_id = "perm-1";
    order.state = EffectState::done;
    REQUIRE(world.ledger->outbox().enqueue(order));
  }
  const auto first = World::entry("w1", World::request("perm-1", "git status"), 1);
  world.write_lead({first});
  world.poll();
  world.write("w1", {});  // it has read it
  world.write_lead({first, World::entry("w1", World::request("perm-1", "git status"), 2)});
  world.poll();
  REQUIRE(world.inbox("w1").size() == 1);
  CHECK(world.payload("w1", 0).at("type") == "permission_response");
  CHECK(world.inbox("w2").empty());
  const auto rows = *world.ledger->outbox().of_request("t", "perm-1");
  CHECK(rows.size() == 3);
  for (const auto& row : rows) CHECK((row.state == EffectState::done) == (row.batch == 1000));
}

}  // namespace inbox_poller::team_verified_test

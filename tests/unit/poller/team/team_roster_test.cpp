// The roster that a dying client leaves empty: the team is served on, also by the next process, and the file is mended.
// And the worker whose approved plan came to nothing.
#include <unistd.h>

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_roster_test {

using namespace inbox_poller::test;

namespace {

struct Lost : World {
  explicit Lost(config::Role role = config::Role::leader)
      : World([role](config::TeamConfig& settings) { settings.team.role = role; }) {
    poll();
    spill(roster(), "");
  }
  [[nodiscard]] fs::path roster() const { return scratch.path("teams/t/config.json"); }
  void poll_for(std::chrono::milliseconds time) {
    for (; time.count() > 0; time -= std::chrono::milliseconds(500)) {
      clock.advance(std::chrono::milliseconds(500));
      poll();
    }
  }
  [[nodiscard]] std::size_t count(const std::string& event) const {
    const std::string all = log();
    std::size_t found = 0;
    for (auto at = all.find('"' + event + '"'); at != std::string::npos; at = all.find('"' + event + '"', at + 1))
      ++found;
    return found;
  }
};

}  // namespace

TEST_CASE("a team is served on while its roster is empty, and the file is mended") {
  Lost world;
  world.poll();
  CHECK(world.team->roster_report().state == "empty");
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
  CHECK(slurp(world.roster()).empty());
  world.poll_for(std::chrono::seconds(4));
  CHECK(slurp(world.roster()) == kRoster);
  CHECK(world.team->roster_report().state == "ok");
  CHECK(world.count("roster.unreadable") == 1);
  CHECK(world.count("roster.restored") == 1);
  CHECK(world.count("roster.changed") == 3);  // nobody left or joined but at the start
}

TEST_CASE("the next process serves the team from what was last seen, and mends it") {
  Lost world;
  world.restart();
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  CHECK(world.inbox("w1").empty());  // somebody may be writing it
  CHECK(world.team->roster_report().state == "empty");
  CHECK_FALSE(world.all_read());
  world.poll_for(std::chrono::seconds(4));
  CHECK(world.inbox("w1").size() == 1);
  CHECK(slurp(world.roster()) == kRoster);
}

TEST_CASE("the next process heeds a lead that lives also where the roster is empty") {
  Lost world;
  auto led = std::string(kRoster);
  led.insert(led.find("\"members\""), "\"leadProcess\": {\"pid\": " + std::to_string(::getpid()) + "}, ");
  spill(world.roster(), led);
  world.poll_for(std::chrono::seconds(2));
  REQUIRE(to_string(world.team->context().membership.role) == "paused");
  spill(world.roster(), "");
  world.restart();
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll_for(std::chrono::seconds(5));
  CHECK(to_string(world.team->context().membership.role) == "paused");
  CHECK_FALSE(world.all_read());
  CHECK(world.inbox("w1").empty());
  CHECK(slurp(world.roster()).empty());
}

TEST_CASE("a roster that changed is kept within a second, and the newest one is put back") {
  Lost world;
  auto newer = std::string(kRoster);
  newer.replace(newer.find("blue"), 4, "pink");
  spill(world.roster(), newer);
  world.poll();
  world.poll_for(std::chrono::seconds(2));
  CHECK(world.ledger->rosters().find("t").operator*()->bytes == newer);
  spill(world.roster(), "");
  world.restart();
  world.poll_for(std::chrono::seconds(5));
  CHECK(slurp(world.roster()) == newer);
}

TEST_CASE("beside another lead an empty roster is served from and left as it is") {
  Lost world(GENERATE(config::Role::interceptor, config::Role::observer));
  world.restart();
  world.poll_for(std::chrono::seconds(5));
  CHECK(world.team->context().roster.find("w1") != nullptr);
  CHECK(slurp(world.roster()).empty());
  CHECK(world.count("roster.restored") == 0);
}

TEST_CASE("a worker that joins and asks in the middle of a poll is answered") {
  World world;
  world.poll();
  std::string with_w3 = kRoster;
  with_w3.insert(with_w3.rfind(']'), R"(, {"agentId": "w3@t", "name": "w3"})");
  world.write_lead({World::entry("w1", "hello", 1)});  // so that the inbox is read
  world.memory->before_receive = [&](const std::string& box) {
    if (box != "team-lead") return;
    world.memory->before_receive = nullptr;
    spill(world.scratch.path("teams/t/config.json"), with_w3);
    world.write_lead({World::entry("w1", "hello", 1), World::entry("w3", World::request("perm-3", "git status", "w3"), 2)});
  };
  world.poll();
  CHECK(world.inbox("w3").size() == 1);
}

TEST_CASE("a team that has gone is forgotten: what comes later under its name is another one") {
  Lost world;
  fs::remove(world.roster());
  CHECK(world.run(world.team->poll()) == Team::Polled::no_team);
  CHECK(world.ledger->rosters().find("t").operator*()->bytes.empty());
}

namespace {

struct Planned : FileWorld {
  Planned() : FileWorld([](config::TeamConfig& settings) { settings.plans.decision = config::Action::allow; }) {
    write_lead({plan()});
    poll();
    REQUIRE(inbox("w1").size() == 1);
  }
  static std::string plan() {
    return entry("w1",
                 R"({"type":"plan_approval_request","from":"w1","timestamp":"2026-02-07T15:20:11.000Z",)"
                 R"("planFilePath":"/p","planContent":"do it","requestId":"plan-1"})",
                 1);
  }
  void consumes() {
    write("w1", {});
    poll();
  }
  void says(const std::string& text) {
    write_lead({plan(), entry("w1", text, 2)});
    poll();
  }
  void pass(std::chrono::seconds time) {
    for (; time.count() > 0; time -= std::chrono::seconds(5)) {
      clock.advance(std::chrono::seconds(5));
      poll();
    }
  }
  std::size_t reminders() const {
    std::size_t count = 0;
    for (const auto& one : inbox("w1"))
      if (json::value_to<std::string>(one.at("text")).starts_with("Reminder: your plan (request plan-1)")) ++count;
    return count;
  }
};
const std::string idle = R"({"type":"idle_notification","from":"w1","timestamp":"x","idleReason":"available"})";

}  // namespace

TEST_CASE("a worker that took its approval and says nothing is reminded once") {
  Planned world;
  world.consumes();
  if (GENERATE(false, true)) world.says(idle);  // the end of the turn in which it asked
  world.pass(std::chrono::seconds(55));
  CHECK(world.reminders() == 0);
  world.pass(std::chrono::seconds(10));
  CHECK(world.reminders() == 1);
  CHECK(world.logged("request.reminded"));
  world.write("w1", {});
  if (GENERATE(false, true)) world.restart();
  world.pass(std::chrono::seconds(700));
  CHECK(world.reminders() == 0);
}

TEST_CASE("a worker that goes on after its approval, or has not taken it, is not reminded") {
  Planned world;
  SECTION("it said something") {
    world.consumes();
    world.says("On it.");
  }
  SECTION("its turn ended later") {
    world.consumes();
    world.pass(std::chrono::seconds(10));
    world.says(idle);
  }
  SECTION("a hook of its client told that it works") {
    world.consumes();
    world.clock.advance(std::chrono::seconds(1));
    REQUIRE(world.team->heard_of("w1", handlers::WorkerReport::assigned, ""));
  }
  SECTION("it has not read the approval") {}
  world.pass(std::chrono::seconds(300));
  CHECK(world.reminders() == 0);
  CHECK_FALSE(world.logged("request.reminded"));
}

TEST_CASE("who waited longer for the answer began a turn with it, and is not reminded") {
  World world;
  world.write_lead({Planned::plan()});
  world.poll();
  world.clock.advance(std::chrono::seconds(6));
  const auto requests = world.team->requests().open();
  REQUIRE(requests.size() == 1);
  handlers::Answer answer;
  answer.event = handlers::RequestEvent::person_approves;
  answer.by = "ann";
  static_cast<void>(world.team->requests().answer(requests[0], answer, false));
  world.poll();
  world.write("w1", {});
  for (int i = 0; i < 60; ++i) {
    world.clock.advance(std::chrono::seconds(5));
    world.poll();
  }
  CHECK_FALSE(world.logged("request.reminded"));
}

}  // namespace inbox_poller::team_roster_test

// What a team's service does beside another consumer of the same inbox.
#include <unistd.h>

#include <limits>

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_roles_test {

using namespace inbox_poller::poller;
using test::FileWorld;
using test::World;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

std::function<void(config::TeamConfig&)> as(config::Role role) {
  return [role](config::TeamConfig& config) { config.team.role = role; };
}

std::function<void(config::TeamConfig&)> leader(config::OnCompetingConsumer what) {
  return [what](config::TeamConfig& config) { config.team.on_competing_consumer = what; };
}

/// An entry as it stands after its reader marked it.
std::string read(std::string entry) {
  const auto at = entry.rfind("false");
  return entry.replace(at, 5, "true");
}

std::string idle(const std::string& from) {
  return R"({"type":"idle_notification","from":")" + from +
         R"(","timestamp":"2026-02-07T15:20:46.348Z","idleReason":"available"})";
}

std::string answer(const std::string& id) {
  return R"({"type":"permission_response","request_id":")" + id + R"(","subtype":"success"})";
}

}  // namespace

TEST_CASE("an interceptor answers what a rule decides, marks exactly that, and leaves every other byte alone") {
  FileWorld world(as(config::Role::interceptor));
  world.write_lead(
      {World::entry("w1", "good morning", 1), World::entry("w1", World::request("perm-1", "git status"), 2),
       World::entry("w1", World::request("perm-2", "make install"), 3), World::entry("w2", idle("w2"), 4)});
  const auto before = test::slurp(world.inboxes() / "team-lead.json");
  world.poll();
  CHECK(world.payload("w1", 0).at("request_id").as_string() == "perm-1");
  CHECK(world.inbox("w1").size() == 1);

  auto expected = before;
  const auto request = expected.find("perm-1");
  const auto flag = expected.find("false", request);
  expected.replace(flag, 5, "true ");
  // In place: "false" becomes "true" and a blank behind the value.
  CHECK(test::slurp(world.inboxes() / "team-lead.json") == expected);
  CHECK(world.receive().empty());
  REQUIRE(world.team->requests().open().size() == 1);
  CHECK(world.team->requests().open()[0].request_id == "perm-2");
  CHECK(world.team->requests().open()[0].deadline_ms == 0);
}

TEST_CASE("an interceptor that was restarted before it could mark marks what it answered, and nothing else") {
  World world(as(config::Role::interceptor));
  const auto chat = World::entry("w1", "good morning", 1);
  const auto request = World::entry("w1", World::request("perm-1", "git status"), 2);
  world.write_lead({chat, request});
  world.poll();
  world.write_lead({chat, request});  // an unlocked writer takes the flag back
  world.restart();
  world.poll();
  CHECK_FALSE(world.inbox("team-lead").at(0).at("read").as_bool());
  CHECK(world.inbox("team-lead").at(1).at("read").as_bool());
  CHECK(world.inbox("w1").size() == 1);
}

TEST_CASE("a request that the lead takes between our answer and our mark is told as such, and only such a one") {
  FileWorld world(as(config::Role::interceptor));
  world.write_lead(
      {World::entry("w1", "good morning", 1), World::entry("w1", World::request("perm-1", "git status"), 2)});
  world.hold("team-lead");
  world.poll();
  CHECK(world.inbox("w1").size() == 1);  // the answer does not wait for the lead's inbox
  world.write_lead({});
  world.hold("team-lead", false);
  world.poll();
  const auto log = world.log();
  const auto lost = log.find("request.answered_by_lead");
  REQUIRE(lost != std::string::npos);
  CHECK(log.find("request.answered_by_lead", lost + 1) == std::string::npos);
  CHECK(world.logged("message.consumed"));
}

TEST_CASE("a request that the lead had read before us is the lead's, and the lost race is no error") {
  World world(as(config::Role::interceptor));
  world.write_lead({});
  world.poll();
  world.write_lead({read(World::entry("w1", World::request("perm-1", "git status"), 1))});
  world.poll();
  CHECK(world.inbox("w1").empty());
  CHECK(world.logged("request.answered_by_lead"));
}

TEST_CASE("what the lead had answered before we read the request is closed as its answer, and a rule does not answer it too") {
  for (const auto role : {config::Role::interceptor, config::Role::leader}) {
    FileWorld world(as(role));
    world.write("w1", {World::entry("team-lead", answer("perm-1"), 3)});
    world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 2),
                      World::entry("w1", World::request("perm-2", "git status"), 4)});
    world.poll();
    CHECK(world.inbox("w1").size() == 2);  // the lead's, and ours to perm-2
    CHECK(world.payload("w1", 1).at("request_id").as_string() == "perm-2");
    const auto recorded = *world.ledger->requests().find("t", {handlers::RequestKind::permission, "w1", "perm-1"});
    CHECK(recorded->state == handlers::RequestState::answered_elsewhere);
    CHECK(recorded->decided_by == "team-lead");
    CHECK(world.team->requests().open().empty());
  }
}

TEST_CASE("an answer that is older than the request was for an earlier use of its id") {
  FileWorld world(as(config::Role::interceptor));
  auto timeless = World::entry("w1", World::request("perm-2", "git status"), 3);
  timeless.erase(timeless.find("2026-02-07T15:20:13.000Z"), 24);
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 2), timeless});
  world.write("w1", {read(World::entry("team-lead", answer("perm-1"), 1)),
                     read(World::entry("team-lead", answer("perm-2"), 1))});
  world.poll();
  CHECK(world.inbox("w1").size() == 4);
}

TEST_CASE("the lead's answer to a request that was decided before is told") {
  FileWorld world(as(config::Role::interceptor));
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  REQUIRE(world.inbox("w1").size() == 1);
  CHECK_FALSE(world.logged("answer.foreign"));
  test::spill(world.inboxes() / "w1.json", "[\n  " + World::entry("team-lead", answer("perm-1"), 3) + "\n]");
  world.poll();
  CHECK(world.logged("answer.foreign"));
  CHECK(world.log().find("the request was decided before: approved by rule") != std::string::npos);
}

TEST_CASE("what was asked while others led is judged by the rules when we lead, and its deadline outlasts a restart") {
  FileWorld world(as(config::Role::observer));
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1),
                    World::entry("w1", World::request("perm-2", "make install"), 2)});
  world.poll();
  REQUIRE(world.team->requests().open().size() == 2);
  world.config.team.role = config::Role::leader;
  world.restart();
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
  REQUIRE(world.team->requests().open().size() == 1);
  const auto deadline = world.team->requests().open()[0].deadline_ms;
  CHECK(deadline > 0);
  world.clock.advance(std::chrono::minutes(9));
  world.restart();
  world.poll();
  REQUIRE(world.team->requests().open().size() == 1);
  CHECK(world.team->requests().open()[0].deadline_ms == deadline);
  world.clock.advance(std::chrono::minutes(2));
  world.poll();
  CHECK(world.team->requests().open().empty());
}

TEST_CASE("an observer writes nothing, tells what the lead took, and sees whose answer it was") {
  FileWorld world(as(config::Role::observer));
  const auto chat = World::entry("w1", "good morning", 1);
  const auto request = World::entry("w1", World::request("perm-1", "git status"), 2);
  world.write_lead({chat, request});
  const auto before = test::slurp(world.inboxes() / "team-lead.json");
  world.poll();
  world.clock.advance(std::chrono::seconds(2));
  world.poll();
  CHECK(test::slurp(world.inboxes() / "team-lead.json") == before);
  CHECK_FALSE(fs::exists(world.inboxes() / "w1.json"));
  REQUIRE(world.team->requests().open().size() == 1);
  CHECK(world.team->watched().waiting == 2);

  world.write_lead({read(chat), read(request)});
  world.poll();
  CHECK(world.team->watched().waiting == 0);
  CHECK(world.team->watched().consumed == 2);
  CHECK(world.logged("message.consumed"));

  test::spill(world.inboxes() / "w1.json", "[\n  " + World::entry("team-lead", answer("perm-1"), 3) + "\n]");
  world.poll();
  CHECK(world.team->requests().open().empty());
  const auto recorded = *world.ledger->requests().find("t", {handlers::RequestKind::permission, "w1", "perm-1"});
  CHECK(recorded->state == handlers::RequestState::answered_elsewhere);
}

TEST_CASE("an observer orders nothing, whatever modes are configured") {
  World world([](config::TeamConfig& config) {
    config.team.role = config::Role::observer;
    config.modes.on_join = config::PermissionMode::plan;
  });
  world.poll();
  CHECK(world.ledger->orders().of_team("t")->empty());
}

TEST_CASE("an observer says once when nobody answers a request, and never answers it itself") {
  World world(as(config::Role::observer));
  world.write_lead({World::entry("w1", World::request("perm-1", "make install"), 1)});
  world.poll();
  world.clock.advance(std::chrono::minutes(11));
  world.poll();
  world.clock.advance(std::chrono::minutes(11));
  world.poll();
  const auto log = world.log();
  const auto first = log.find("request.unanswered");
  REQUIRE(first != std::string::npos);
  CHECK(log.find("request.unanswered", first + 1) == std::string::npos);
  CHECK(world.inbox("w1").empty());
  CHECK(world.team->requests().open().size() == 1);
}

TEST_CASE("a worker whose turn ended waits for no permission any more, whoever answered it") {
  World world(as(config::Role::observer));
  const auto request = World::entry("w1", World::request("perm-1", "make install"), 1);
  world.write_lead({request});
  world.poll();
  REQUIRE(world.team->requests().open().size() == 1);
  world.write_lead({request, World::entry("w1", idle("w1"), 2)});
  world.poll();
  CHECK(world.team->requests().open().empty());
}

TEST_CASE("a leader stops at the second sign of another consumer, and goes on when told so") {
  FileWorld world(leader(config::OnCompetingConsumer::stop));
  world.write_lead({});
  world.poll();
  const auto first = read(World::entry("w1", "one", 1));
  const auto second = read(World::entry("w1", "two", 2));
  const auto third = World::entry("w1", "three", 3);
  world.write_lead({first});
  world.poll();
  CHECK_FALSE(world.team->context().membership.role == handlers::EffectiveRole::paused);
  world.write_lead({first, second});
  world.poll();
  CHECK(world.team->context().membership.role == handlers::EffectiveRole::paused);
  CHECK(to_string(world.team->context().membership.role) == "paused");
  CHECK_FALSE(world.team->context().membership.reason.empty());

  world.write_lead({first, second, third});
  world.poll();
  CHECK(world.receive().empty());
  CHECK_FALSE(world.inbox("team-lead").at(2).at("read").as_bool());

  REQUIRE(world.team->resume());
  world.poll();
  const auto received = world.receive();
  REQUIRE(received.size() == 1);
  CHECK(received[0].text == "three");
  CHECK(world.all_read());
}

namespace {

/// The roster with `leadProcess` as given; the next poll sees it.
void claim(World& world, const std::string& process) {
  auto roster = std::string(test::kRoster);
  roster.insert(roster.find("\"members\""), "\"leadProcess\": {" + process + "}, ");
  test::replace(world.scratch.path("teams/t/config.json"), roster);
}

std::string process(long long pid, long long claimed_at = 0) {
  return "\"pid\": " + std::to_string(pid) + ", \"claimedAt\": " + std::to_string(claimed_at);
}

std::string membership(World& world) { return std::string(to_string(world.team->context().membership.role)); }

constexpr long long nobody = 0x7ffffff0;  // beyond any pid_max
const auto far_future = std::numeric_limits<long long>::max() / 2;

}  // namespace

TEST_CASE("beside a lead that lives a leader takes nothing from its first poll on") {
  FileWorld world;
  world.write_lead(
      {World::entry("w1", "good morning", 1), World::entry("w1", World::request("perm-1", "git status"), 2)});
  const auto before = test::slurp(world.inboxes() / "team-lead.json");
  claim(world, process(::getpid()));
  world.poll();
  world.poll();
  CHECK(membership(world) == "paused");
  CHECK(world.team->context().membership.reason.find("process " + std::to_string(::getpid())) != std::string::npos);
  CHECK(test::slurp(world.inboxes() / "team-lead.json") == before);
  CHECK(world.inbox("w1").empty());
  const auto log = world.log();
  const auto first = log.find("inbox.competing_consumer");
  REQUIRE(first != std::string::npos);
  CHECK(log.find("inbox.competing_consumer", first + 1) == std::string::npos);
}

TEST_CASE("a person's word to lead beside a lead holds for that claim, over restarts, and for no other") {
  World world;
  world.write_lead({World::entry("w1", "good morning", 1)});
  claim(world, process(::getpid(), far_future));
  world.poll();
  world.restart();
  world.poll();
  REQUIRE(membership(world) == "paused");
  REQUIRE(world.team->resume());
  world.poll();
  CHECK(membership(world) == "leader");
  CHECK(world.all_read());
  world.restart();
  world.poll();
  CHECK(membership(world) == "leader");
  claim(world, process(::getpid(), far_future + 1));
  world.poll();
  CHECK(membership(world) == "paused");
}

TEST_CASE("resume where nothing was stopped accepts no lead") {
  World world;
  claim(world, process(nobody));
  world.poll();
  REQUIRE(membership(world) == "leader");
  REQUIRE(world.team->resume());
  CHECK_FALSE(world.logged("lead.accepted"));
  CHECK(membership(world) == "leader");
}

TEST_CASE("a lead that comes to live later stops a leader as well, or makes it observe, or is only told of") {
  for (const auto& [what, expected] :
       {std::pair(config::OnCompetingConsumer::stop, "paused"), std::pair(config::OnCompetingConsumer::observe, "observer"),
        std::pair(config::OnCompetingConsumer::ignore, "leader")}) {
    World world(leader(what));
    claim(world, process(nobody));
    world.poll();
    CHECK(membership(world) == "leader");
    CHECK_FALSE(world.logged("inbox.competing_consumer"));
    claim(world, process(::getpid()));
    world.poll();
    CHECK(membership(world) == expected);
    CHECK(world.logged("inbox.competing_consumer"));
  }
}

TEST_CASE("chat that was accepted is offered also after another lead came to live, whether the leader stops or observes") {
  for (const auto what : {config::OnCompetingConsumer::stop, config::OnCompetingConsumer::observe}) {
    FileWorld world(leader(what));
    world.write_lead({World::entry("w1", "one", 1)});
    world.poll();
    REQUIRE(world.all_read());
    claim(world, process(::getpid()));
    world.poll();
    REQUIRE(membership(world) != "leader");
    REQUIRE(world.receive().size() == 1);
  }
}

TEST_CASE(
    "a claim of another process of that number stops nobody, and one that cannot be looked at is warned of once") {
  World world;
  claim(world, process(::getpid(), 7));  // claimed long before it began
  world.poll();
  claim(world, process(::getpid()) + R"(, "procStart": "1")");
  world.poll();
  CHECK(membership(world) == "leader");
  CHECK_FALSE(world.logged("daemon.warning"));
  claim(world, process(nobody) + R"(, "pidSpace": "elsewhere#pid:[1]")");
  world.poll();
  world.poll();
  CHECK(membership(world) == "leader");
  const auto log = world.log();
  const auto first = log.find("elsewhere#pid:[1]");
  REQUIRE(first != std::string::npos);
  CHECK(log.find("elsewhere#pid:[1]", first + 1) == std::string::npos);
}

namespace {

/// This process as the client of the lead's session; the next poll sees it.
void live_session(World& world, const std::string& status, long long team_made_ms, const std::string& entrypoint = "cli") {
  auto roster = std::string(test::kRoster);
  roster.insert(roster.find("\"members\""), "\"createdAt\": " + std::to_string(team_made_ms) + ", ");
  test::replace(world.scratch.path("teams/t/config.json"), roster);
  const auto started = world.processes.identify(::getpid())->started;
  fs::create_directories(world.scratch.path("sessions"));
  test::spill(world.scratch.path("sessions/" + std::to_string(::getpid()) + ".json"),
              "{\"pid\":" + std::to_string(::getpid()) + R"(,"sessionId":"s","procStart":")" +
                  started.substr(0, started.find('@')) + R"(","version":"2.1.220","entrypoint":")" + entrypoint +
                  R"(","status":")" + status + "\"}");
}

}  // namespace

TEST_CASE("beside a client that made the team and lives a leader takes nothing, until a person says so") {
  World world;
  world.write_lead({World::entry("w1", "good morning", 1)});
  live_session(world, "idle", far_future);
  world.poll();
  CHECK(membership(world) == "paused");
  for (const auto* word : {"client 2.1.220", "has the lead's session", "inbox-poller resume"})
    CHECK(world.team->context().membership.reason.find(word) != std::string::npos);
  CHECK(world.receive().empty());
  world.restart();
  world.poll();
  REQUIRE(membership(world) == "paused");
  REQUIRE(world.team->resume());
  world.poll();
  CHECK(membership(world) == "leader");
  CHECK(world.all_read());
  world.restart();
  world.poll();
  CHECK(membership(world) == "leader");
}

TEST_CASE("a client that came to its session later, and a headless one, stop nobody; what they do is known") {
  World world;
  live_session(world, "busy", 1000);
  world.poll();
  CHECK(membership(world) == "leader");
  CHECK(world.team->delivery().lead().state() == LeadState::busy);
  live_session(world, "idle", 1000);
  world.poll();
  CHECK(world.team->delivery().lead().state() == LeadState::idle);
  live_session(world, "waiting", far_future, "sdk-cli");
  world.poll();
  CHECK(membership(world) == "leader");
  CHECK(world.team->delivery().lead().state() == LeadState::busy);
  fs::remove_all(world.scratch.path("sessions"));
  world.poll();
  CHECK(world.team->delivery().lead().state() == LeadState::idle);
}

TEST_CASE("two signs far apart are no other consumer") {
  World world(leader(config::OnCompetingConsumer::stop));
  std::vector<std::string> entries;
  world.write_lead(entries);
  world.poll();
  for (int n = 1; n <= 3; ++n) {
    entries.push_back(read(World::entry("w1", "message " + std::to_string(n), n)));
    world.write_lead(entries);
    world.poll();
    world.clock.advance(std::chrono::minutes(11));
  }
  CHECK_FALSE(world.team->context().membership.role == handlers::EffectiveRole::paused);
}

TEST_CASE("entries that vanish as a deleting client leaves it are a sign as well") {
  FileWorld world(leader(config::OnCompetingConsumer::stop));
  for (int round = 0; round < 2; ++round) {
    world.write_lead({World::entry("w1", "message " + std::to_string(round), 1 + round)});
    world.poll();
    CHECK(world.all_read());
    CHECK_FALSE(world.team->context().membership.role == handlers::EffectiveRole::paused);
    world.write_lead({});
    world.poll();
  }
  CHECK(world.team->context().membership.role == handlers::EffectiveRole::paused);
}

TEST_CASE("a leader that shall observe takes over what the other consumer left, once it is told to lead again") {
  FileWorld world(leader(config::OnCompetingConsumer::observe));
  world.write_lead({});
  world.poll();
  const auto first = read(World::entry("w1", "one", 1));
  const auto second = read(World::entry("w1", "two", 2));
  world.write_lead({first});
  world.poll();
  world.write_lead({first, second});
  world.poll();
  CHECK(to_string(world.team->context().membership.role) == "observer");

  const auto left = World::entry("w1", "three", 3);
  const auto request = World::entry("w1", World::request("perm-1", "make install"), 4);
  world.write_lead({first, second, left, request});
  world.poll();
  CHECK(world.receive().empty());
  REQUIRE(world.team->resume());
  world.poll();
  const auto received = world.receive();
  REQUIRE(received.size() == 1);
  CHECK(received[0].text == "three");
  CHECK(world.all_read());
  REQUIRE(world.team->requests().open().size() == 1);  // the request is ours now: it ends at a deadline
  world.clock.advance(std::chrono::minutes(11));
  world.poll();
  CHECK(world.payload("w1", 0).at("subtype").as_string() == "error");
}

TEST_CASE("a leader that shall ignore it only says so") {
  FileWorld world(leader(config::OnCompetingConsumer::ignore));
  world.write_lead({});
  world.poll();
  std::vector<std::string> entries;
  for (int n = 1; n <= 4; ++n) {
    entries.push_back(read(World::entry("w1", "message " + std::to_string(n), n)));
    world.write_lead(entries);
    world.poll();
  }
  CHECK(to_string(world.team->context().membership.role) == "leader");
  CHECK(world.logged("inbox.competing_consumer"));
}

}  // namespace inbox_poller::team_roles_test

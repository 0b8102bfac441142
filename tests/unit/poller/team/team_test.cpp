// One team's poll, end to end but in one process: real files, a real ledger, a clock that stands still.
#include "poller/team/team.hpp"

#include <sqlite3.h>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <exception>
#include <filesystem>
#include <string>

#include "poller/pause.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_test {

using namespace inbox_poller::poller;
namespace json = boost::json;
namespace fs = std::filesystem;
using test::kRoster;
using test::FileWorld;
using test::World;

namespace {

handlers::Request open_request(World& world, const std::string& id = "perm-1") {
  world.write_lead({World::entry("w1", World::request(id, "make install"))});
  world.poll();
  const auto open = world.team->requests().open();
  REQUIRE(open.size() == 1);
  return open.front();
}

}  // namespace

TEST_CASE("a request that a rule allows is answered in the poll that finds it, and marked read") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"))});
  world.poll();
  CHECK(world.all_read());
  const auto answer = world.payload("w1", 0);
  CHECK(answer.at("type").as_string() == "permission_response");
  CHECK(answer.at("request_id").as_string() == "perm-1");
  CHECK(answer.at("subtype").as_string() == "success");
  CHECK(answer.at("response").at("updated_input").at("command").as_string() == "git status");
}

TEST_CASE("a long inbox is marked in two polls, whatever keeps single flags from being set in place") {
  World world;
  std::vector<std::string> entries;  // some flags lie across a sector's end, some are not there
  for (int i = 0; i < 600; ++i) {
    entries.push_back(World::entry("w1", "message " + std::to_string(i) + std::string(i % 97, 'x')));
    if (i % 50 == 0) entries.back().replace(entries.back().find(",\n    \"read\""), std::string::npos, "}");
  }
  world.write_lead(entries);
  world.poll();
  world.poll();
  for (const auto& entry : world.inbox("team-lead")) CHECK((entry.at("read").is_bool() && entry.at("read").as_bool()));
}

TEST_CASE("chat waits while the lead is busy and comes in order when it is idle") {
  World world;
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_busy));
  world.write_lead({World::entry("w1", "first", 1), World::entry("w2", "second", 2)});
  world.poll();
  CHECK(world.all_read());
  CHECK(world.receive().empty());
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_idle));
  const auto messages = world.receive();
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].text == "first");
  CHECK(messages[1].text == "second");
  CHECK(messages[0].color == "blue");
  CHECK(world.receive().empty());
}

TEST_CASE("a busy report runs out on the monotonic clock") {
  World world;
  world.write_lead({World::entry("w1", "hello")});
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_busy, std::chrono::seconds(60)));
  world.poll();
  world.clock.jump_wall(std::chrono::hours(24));
  world.poll();
  CHECK(world.receive().empty());
  world.clock.advance(std::chrono::seconds(61));
  world.poll();
  CHECK(world.receive().size() == 1);
}

TEST_CASE("nothing is marked, answered or offered when the ledger cannot commit - all of it happens once it can") {
  FileWorld world;
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1), World::entry("w1", "hello", 2)});
  const auto before = test::slurp(world.inboxes() / "team-lead.json");
  // Somebody with a transaction of their own on our file; and a fault when all is judged and nearly all is written.
  const auto [hinder, undo] = GENERATE(table<const char*, const char*>(
      {{"BEGIN IMMEDIATE", "ROLLBACK"},
       {"CREATE TRIGGER late BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'no'); END", "DROP TRIGGER late"}}));
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, hinder, nullptr, nullptr, nullptr) == SQLITE_OK);
  world.poll();
  CHECK(test::slurp(world.inboxes() / "team-lead.json") == before);
  CHECK(world.inbox("w1").empty());
  CHECK(world.receive().empty());
  REQUIRE(sqlite3_exec(other, undo, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  world.poll();
  CHECK(world.all_read());
  CHECK(world.inbox("w1").size() == 1);
  CHECK(world.receive().size() == 1);
}

TEST_CASE("who left and who joined counts by the roster, although the ledger could not record it") {
  World world;
  const auto roster = [&](const char* more) {
    test::spill(world.scratch.path("teams/t/config.json"),
                std::string(R"({"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[{"name":"team-lead"})") +
                    more + "]}");
  };
  const auto by_hand = [&](const char* sql) {
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(other);
  };
  world.poll();
  by_hand("CREATE TRIGGER late BEFORE INSERT ON members WHEN NEW.present = 0 BEGIN SELECT RAISE(ABORT, 'no'); END");
  roster("");
  world.write_lead({World::entry("w1", "my last words", 1)});
  world.poll();
  CHECK_FALSE(world.logged("message.rejected"));
  by_hand("DROP TRIGGER late");
  world.poll();
  CHECK(world.receive().size() == 1);

  world.clock.advance(std::chrono::minutes(2));
  world.poll();
  by_hand("CREATE TRIGGER late BEFORE INSERT ON members WHEN NEW.present = 1 BEGIN SELECT RAISE(ABORT, 'no'); END");
  roster(R"(,{"name":"w1","agentId":"w1@t"})");
  world.write_lead({World::entry("w1", "my last words", 1), World::entry("w1", World::request("perm-1", "make install"), 2)});
  world.poll();
  world.poll();
  CHECK(world.team->requests().open().size() == 1);
  by_hand("DROP TRIGGER late");
  world.poll();
  CHECK(world.team->requests().open().size() == 1);
}

TEST_CASE("a flip that a peer wrote over is set again, and nothing is delivered or answered twice") {
  World world;
  const std::vector<std::string> entries{World::entry("w1", World::request("perm-1", "git status"), 1),
                                         World::entry("w1", "hello", 2)};
  world.write_lead(entries);
  world.poll();
  CHECK(world.receive().size() == 1);
  world.write_lead(entries);  // as a writer without a lock does
  world.poll();
  CHECK(world.all_read());
  CHECK(world.receive().empty());
  CHECK(world.inbox("w1").size() == 1);
}

TEST_CASE("the same request under a new time stamp gets the same bytes - with other content it is refused") {
  World world;
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  const auto first = world.inbox("w1").at(0);
  world.write("w1", {});  // consumed by a reader that deletes
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 2),
                    World::entry("w1", World::request("perm-1", "rm -rf /"), 3)});
  world.clock.advance(std::chrono::seconds(1));
  world.poll();
  REQUIRE(world.inbox("w1").size() == 2);
  CHECK(world.inbox("w1").at(0) == first);
  CHECK(world.payload("w1", 1).at("subtype").as_string() == "error");  // the other one, in words
  const auto refused = *world.ledger->messages().quarantined("t", 10);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].code == "request.id_reused");
}

TEST_CASE("an open request whose id is used for another one is withdrawn, and the denial is the only answer to the id") {
  World world;
  const auto sandbox = R"({"type":"sandbox_permission_request","requestId":"perm-1","workerId":"w1@t","workerName":"w1",)"
                       R"("hostPattern":{"host":"example.com"},"createdAt":1})";
  world.write_lead({World::entry("w1", World::request("perm-1", "make install"), 1), World::entry("w1", sandbox, 2),
                    World::entry("w2", World::request("perm-1", "make install", "w2"), 3)});
  world.poll();
  REQUIRE(world.team->requests().open().size() == 3);
  world.write_lead({World::entry("w1", World::request("perm-1", "rm -rf build"), 4)});
  world.poll();
  std::vector<std::string> left;  // another kind, and another worker
  for (const auto& one : world.team->requests().open()) left.push_back(one.asker + " " + std::string(to_string(one.kind)));
  CHECK(left == std::vector<std::string>{"w2 permission", "w1 sandbox"});
  REQUIRE(world.inbox("w1").size() == 1);
  CHECK(world.payload("w1", 0).at("subtype").as_string() == "error");
  CHECK(world.ledger->requests().find("t", {handlers::RequestKind::permission, "w1", "perm-1"})->value().state ==
        handlers::RequestState::withdrawn);
}

TEST_CASE("a request that no rule decides waits for a person, whose first answer is final") {
  World world;
  const auto request = open_request(world);
  CHECK(world.inbox("w1").empty());
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(world.team->requests().answer(request, yes, false)));
  handlers::Answer no;
  no.by = "bob";
  no.reason = "no";
  const auto second =
      world.team->requests().answer(*world.ledger->requests().find("t", {request.kind, request.asker, request.request_id}).operator*(), no, false);
  REQUIRE(std::holds_alternative<Requests::Refusal>(second));
  CHECK(std::get<Requests::Refusal>(second).code == "request.already_decided");
  world.poll();
  REQUIRE(world.inbox("w1").size() == 1);
  CHECK(world.payload("w1", 0).at("subtype").as_string() == "success");
}

TEST_CASE("with always an approval becomes a rule of the session that survives a restart") {
  World world;
  const auto request = open_request(world);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  const auto taken = world.team->requests().answer(request, yes, true);
  REQUIRE(std::holds_alternative<Requests::Applied>(taken));
  CHECK(std::get<Requests::Applied>(taken).rule_added == "Bash(make install)");
  world.restart();
  world.write_lead({World::entry("w2", World::request("perm-2", "make install", "w2"), 3)});
  world.poll();
  REQUIRE(world.inbox("w2").size() == 1);
  CHECK(world.payload("w2", 0).at("subtype").as_string() == "success");
}

TEST_CASE("always is refused for a plan, since no rule covers one, and the plan stays open") {
  World world;
  world.write_lead(
      {World::entry("w1", R"({"type":"plan_approval_request","from":"w1","requestId":"plan-1",)"
                          R"("planFilePath":"/p.md","planContent":"do it","timestamp":"2026-02-07T15:20:11.000Z"})")});
  world.poll();
  REQUIRE(world.team->requests().open().size() == 1);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  const auto plan = *world.team->requests().oldest_first().front();
  const auto refused = world.team->requests().answer(plan, yes, true);
  REQUIRE(std::holds_alternative<Requests::Refusal>(refused));
  CHECK(std::get<Requests::Refusal>(refused).code == "rule.none_safe");
  CHECK(world.team->requests().open().size() == 1);
  CHECK(std::holds_alternative<Requests::Applied>(world.team->requests().answer(plan, yes, false)));
}

TEST_CASE("a rule given in one session of the lead does not hold in the next") {
  World world;
  const auto request = open_request(world);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(world.team->requests().answer(request, yes, true)));
  CHECK(world.team->context().rules.of_session().size() == 1);
  std::string roster = kRoster;
  roster.replace(roster.find("\"leadSessionId\": \"s\""), 20, "\"leadSessionId\": \"u\"");
  test::spill(world.scratch.path("teams/t/config.json"), roster);
  world.write_lead({World::entry("w2", World::request("perm-2", "make install", "w2"), 3)});
  world.poll();
  CHECK(world.team->context().rules.of_session().empty());
  CHECK(world.team->requests().open().size() == 1);
}

TEST_CASE("a request that nobody answers is denied at its deadline, also after a restart, never by the wall clock") {
  World world;
  open_request(world);
  world.clock.jump_wall(std::chrono::hours(-5));  // while we were down
  world.restart();
  world.poll();
  CHECK(world.team->requests().open().size() == 1);
  world.clock.advance(world.config.permissions.timeout + std::chrono::seconds(1));
  world.poll();
  CHECK(world.team->requests().open().empty());
  REQUIRE(world.inbox("w1").size() == 1);
  CHECK(world.payload("w1", 0).at("subtype").as_string() == "error");
  CHECK_FALSE(world.payload("w1", 0).at("error").as_string().empty());
}

TEST_CASE("the request of a worker that left is withdrawn, but not for a moment's absence") {
  World world;
  open_request(world);
  const auto config_file = world.scratch.path("teams/t/config.json");
  test::spill(config_file, R"({"name":"t","leadAgentId":"team-lead@t","members":[{"name":"team-lead"}]})");
  world.clock.advance(std::chrono::seconds(5));
  world.poll();
  world.clock.advance(std::chrono::seconds(30));
  world.poll();
  CHECK(world.team->requests().open().size() == 1);
  world.clock.advance(std::chrono::seconds(40));
  world.poll();
  CHECK(world.team->requests().open().empty());
  CHECK(world.inbox("w1").empty());
}

TEST_CASE("a roster that cannot be read leaves the last good one in force") {
  World world;
  world.poll();
  test::spill(world.scratch.path("teams/t/config.json"), "");
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"))});
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
}

TEST_CASE("a folder that loses its roster is no team any more") {
  World world;
  world.poll();
  fs::remove(world.scratch.path("teams/t/config.json"));
  CHECK(world.run(world.team->poll()) == Team::Polled::no_team);
}

TEST_CASE("the same sender, time and text twice is one message, and both entries are marked") {
  FileWorld world;
  world.write_lead({World::entry("w1", "hello", 1), World::entry("w1", "hello", 1), World::entry("w1", "hello", 2)});
  world.poll();
  CHECK(world.all_read());
  CHECK(world.receive().size() == 2);
}

TEST_CASE(
    "chat that somebody had marked before we first saw it is recorded, not delivered - a request is answered all the "
    "same") {
  World world;
  auto chat = World::entry("w1", "old news", 1);
  auto request = World::entry("w1", World::request("perm-1", "git status"), 2);
  for (auto* entry : {&chat, &request}) entry->replace(entry->find("\"read\": false"), 13, "\"read\": true");
  world.write_lead({chat, request});
  world.poll();
  CHECK(world.receive().empty());
  CHECK(world.ledger->messages().like("", 10)->size() == 2);
  CHECK(world.inbox("w1").size() == 1);
}

TEST_CASE("one bad entry hides none of its neighbors and is kept with its bytes") {
  World world;
  world.write_lead({World::entry("w1", "before", 1),
                    R"({"from":"w1","text":{"an":"object"},"timestamp":"x","read":false})", "null",
                    World::entry("w2", "after", 2)});
  world.poll();
  CHECK(world.receive().size() == 2);
  const auto bad = *world.ledger->messages().quarantined("t", 10);
  REQUIRE(bad.size() == 2);
  CHECK(bad[1].raw == R"({"from":"w1","text":{"an":"object"},"timestamp":"x","read":false})");
}

TEST_CASE("a file that stays damaged is copied aside once, untouched, and what stands before the damage is taken in") {
  FileWorld world;
  const std::string torn = "[\n  " + World::entry("w1", "whole", 1) + ",\n  {\"from\": \"w1\", \"te";
  test::spill(world.inboxes() / "team-lead.json", torn);
  for (std::uint32_t i = 0; i < world.config.limits.quarantine_after_polls + 3; ++i) {
    world.clock.advance(std::chrono::seconds(3));
    world.poll();
  }
  CHECK(world.team->inbox_report().state == "torn");
  CHECK(test::slurp(world.inboxes() / "team-lead.json") == torn);
  const auto copies = *world.quarantine.list();
  REQUIRE(copies.size() == 1);
  CHECK(test::slurp(copies[0].path) == torn);
  CHECK(world.receive().size() == 1);
  world.write_lead({World::entry("w1", "whole", 1), World::entry("w1", "next", 2)});
  world.poll();
  const auto messages = world.receive();
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].text == "next");
}

TEST_CASE("ever new damage fills no disk, and what stands whole before it still comes in") {
  FileWorld world([](config::TeamConfig& config) { config.limits.quarantine_after_polls = 1; });
  for (int i = 0; i < 40; ++i) {
    const std::string text = "whole " + std::to_string(i);
    test::spill(world.inboxes() / "team-lead.json",
                "[\n  " + World::entry("w1", text, i % 60) + ",\n  {\"x\": " + std::to_string(i));
    world.clock.advance(std::chrono::seconds(3));
    world.poll();
    const auto messages = world.receive();
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].text == text);
  }
  CHECK(world.quarantine.list()->size() == 32);
  CHECK(world.log().find("remove what you do not need") != std::string::npos);
}

TEST_CASE("control effects of a batch are on the disk before its chat is offered") {
  World world;
  world.hold("w1");  // a peer holds the worker's inbox
  world.write_lead(
      {World::entry("w1", World::request("perm-1", "git status"), 1), World::entry("w1", "after the request", 2)});
  world.poll();
  CHECK(world.inbox("w1").empty());
  CHECK(world.receive().empty());
  world.hold("w1", false);
  world.clock.advance(std::chrono::seconds(2));
  world.poll();
  CHECK(world.inbox("w1").size() == 1);
  CHECK(world.receive().size() == 1);
}

TEST_CASE("what was written is recorded before the wait for an inbox that somebody else holds") {
  World world;
  world.hold("w1");
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1),
                    World::entry("w2", World::request("perm-2", "git status", "w2"), 2)});
  bool ended = false;
  boost::asio::co_spawn(world.context, world.team->poll(), [&](std::exception_ptr, Team::Polled) { ended = true; });
  world.context.restart();
  while (!ended && *world.ledger->outbox().owed("t") != 1) world.context.run_one();
  CHECK_FALSE(ended);
  CHECK(world.inbox("w2").size() == 1);
  world.context.run();
  CHECK(*world.ledger->outbox().owed("t") == 1);
}

TEST_CASE("after a long time out of service an answer still goes before the chat of its batch") {
  World world;
  world.hold("w1");
  world.write_lead(
      {World::entry("w1", World::request("perm-1", "git status"), 1), World::entry("w1", "after the request", 2)});
  world.poll();
  world.clock.advance(std::chrono::hours(1));
  world.restart();
  CHECK(world.receive().empty());
  SECTION("it is written now") { world.hold("w1", false); }
  SECTION("it cannot be written, and has had its time once more") { world.clock.advance(std::chrono::seconds(31)); }
  world.poll();
  CHECK(world.receive().size() == 1);
}

TEST_CASE("a worker's inbox that stays blocked does not silence the lead for good") {
  FileWorld world;
  fs::create_directory(world.inboxes() / "w1.json");
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1), World::entry("w2", "hello", 2)});
  world.poll();
  CHECK(world.receive().empty());
  world.clock.advance(std::chrono::seconds(31));
  CHECK(world.receive().size() == 1);
}

TEST_CASE("what was lent and not acknowledged is offered again, labeled") {
  World world;
  world.write_lead({World::entry("w1", "hello")});
  world.poll();
  const auto first = world.receive();
  REQUIRE(first.size() == 1);
  CHECK(first[0].attempts == 1);
  world.team->delivery().requeue(first);
  const auto second = world.receive();
  REQUIRE(second.size() == 1);
  CHECK(second[0].attempts == 2);
  CHECK(block(second).find("may be a repeat") != std::string::npos);
  CHECK(*world.team->delivery().acknowledge({second[0].key.value}) == 1);
  CHECK(*world.team->delivery().acknowledge({second[0].key.value}) == 0);
  world.team->delivery().requeue(second);
  CHECK(world.receive().empty());
}

TEST_CASE("when the queue for the lead is full, further chat stays unread in the inbox and comes in later") {
  World world([](config::TeamConfig& config) { config.limits.queued_chat = 2; });
  world.write_lead({World::entry("w1", "one", 1), World::entry("w2", "two", 2), World::entry("w1", "three", 3),
                    World::entry("w1", World::request("perm-1", "git status"), 4)});
  world.poll();
  CHECK_FALSE(world.inbox("team-lead").at(2).at("read").as_bool());
  CHECK(world.inbox("w1").size() == 1);
  world.clock.advance(std::chrono::seconds(5));
  world.poll();  // from here on the file counts as unchanged
  const auto messages = world.receive();
  REQUIRE(messages.size() == 2);
  REQUIRE(world.team->delivery().acknowledge({messages[0].key.value, messages[1].key.value}));
  world.poll();
  CHECK(world.all_read());
  const auto rest = world.receive();
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].text == "three");
}

TEST_CASE("a sender who has its share of the queue waits in the inbox, and the others' chat comes in past it") {
  World world([](config::TeamConfig& config) { config.limits.queued_chat = 6; });  // two workers: three each
  std::vector<std::string> entries;
  for (int i = 0; i < 9; ++i) entries.push_back(World::entry("w1", "noise " + std::to_string(i), i));
  entries.push_back(World::entry("w2", "quiet", 20));
  world.write_lead(entries);
  world.poll();
  CHECK(world.log().find("w1 has its share of limits.queued_chat (3) in the queue") != std::string::npos);
  std::vector<std::string> heard;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> keys;
    for (const auto& message : world.receive()) {
      heard.push_back(message.text);
      keys.push_back(message.key.value);
    }
    CHECK(keys.size() == (round == 0 ? 4 : 3));
    REQUIRE(world.team->delivery().acknowledge(keys));
    world.poll();
  }
  CHECK(world.all_read());
  CHECK(heard == std::vector<std::string>{"noise 0", "noise 1", "noise 2", "quiet", "noise 3", "noise 4", "noise 5",
                                          "noise 6", "noise 7", "noise 8"});
}

TEST_CASE("a reply that a peer's unlocked write ate is written again with the same bytes") {
  FileWorld world;
  test::spill(world.inboxes() / "w1.json", "[\n  " + World::entry("team-lead", "older", 9) + "\n]");
  const auto older = test::slurp(world.inboxes() / "w1.json");
  world.write_lead({World::entry("w1", World::request("perm-1", "git status"), 1)});
  world.poll();
  REQUIRE(world.inbox("w1").size() == 2);
  const auto reply = world.inbox("w1").at(1);
  test::spill(world.inboxes() / "w1.json", older);
  world.clock.advance(std::chrono::milliseconds(100));
  world.poll();
  world.clock.advance(std::chrono::milliseconds(100));
  world.poll();
  REQUIRE(world.inbox("w1").size() == 2);
  CHECK(world.inbox("w1").at(1) == reply);
}

TEST_CASE("a host that a person allowed once is allowed for the session") {
  World world;
  const auto host_request = [](const std::string& id) {
    return R"({"type":"sandbox_permission_request","requestId":")" + id +
           R"(","workerId":"w1@t","workerName":"w1","hostPattern":{"host":"api.example.org"},"createdAt":1})";
  };
  world.write_lead({World::entry("w1", host_request("sandbox-1"), 1)});
  world.poll();
  const auto open = world.team->requests().open();
  REQUIRE(open.size() == 1);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(world.team->requests().answer(open[0], yes, false)));
  world.write_lead(
      {World::entry("w1", host_request("sandbox-1"), 1), World::entry("w1", host_request("sandbox-2"), 2)});
  world.poll();
  REQUIRE(world.inbox("w1").size() == 2);
  CHECK(world.payload("w1", 1).at("requestId").as_string() == "sandbox-2");
  CHECK(world.payload("w1", 1).at("allow").as_bool());
}

TEST_CASE("a team at rest still finds what changes, and what only time brings") {
  FileWorld w;
  w.write_lead({World::entry("w1", World::request("r1", "make it"))});
  w.write("w1", {});
  const auto polls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      w.clock.advance(std::chrono::milliseconds(500));
      w.team->set_watch(true);
      w.poll();
    }
  };
  w.clock.advance(std::chrono::minutes(1));
  polls(30);
  CHECK(w.inbox("w1").empty());

  SECTION("a message for the lead") {
    w.write_lead({World::entry("w1", "done", 2)});
    polls(11);  // in place, and without a lock
    CHECK(w.all_read());
  }
  SECTION("another member") {
    std::string roster = kRoster;
    const auto replace = [&](const std::string& one, const std::string& other) {
      roster.replace(roster.find(one), one.size(), other);
      test::spill(w.scratch.path("teams/t/config.json"), roster);
    };
    replace("\"w2\"", "\"w3\"");
    w.team->notify();
    polls(1);
    CHECK(w.team->context().roster.find("w3") != nullptr);
    replace("\"w3\"", "\"w4\"");
    polls(11);  // without a hint
    CHECK(w.team->context().roster.find("w4") != nullptr);
  }
  SECTION("an inbox that is nobody's") {
    w.write("ghost", {});
    polls(25);
    CHECK(w.logged("inbox.orphaned"));
  }
  SECTION("the deadline of a request") {
    w.clock.advance(w.config.permissions.timeout);
    polls(1);
    CHECK(w.inbox("w1").size() == 1);
  }
}

}  // namespace inbox_poller::team_test

// Compaction within a team's polls: which entries leave the lead's inbox, when, and what the parts around it make of
// it.
#include <sqlite3.h>

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_compaction_test {

using namespace inbox_poller::test;
using std::chrono::hours;
using std::chrono::minutes;

namespace {

struct Talk : FileWorld {
  explicit Talk(const std::function<void(config::TeamConfig&)>& adapt = [](config::TeamConfig&) {})
      : FileWorld([&](config::TeamConfig& settings) {
          settings.compaction.entries = 20;
          adapt(settings);
        }) {}

  static std::string said(const std::string& text, const std::string& time = "2026-02-07T15:20:11.000Z") {
    return poller::encode_entry({"w1", text, "", time, "", "00000000-0000-4000-8000-000000000001"});
  }
  /// Adds to what is in the file, as a peer does.
  void say(const std::string& entry) {
    const auto path = inboxes() / "team-lead.json";
    const std::string bytes = fs::exists(path) ? slurp(path) : "[]";
    std::string all = bytes.substr(0, bytes.rfind(']'));
    while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) all.pop_back();
    spill(path, all + (all.ends_with('[') ? "\n  " : ",\n  ") + entry + "\n]");
  }
  void deliver_all() {
    for (auto some = receive(); !some.empty(); some = receive()) {
      std::vector<std::string> keys;
      for (const auto& message : some) keys.push_back(message.key.value);
      REQUIRE(team->delivery().acknowledge(keys));
    }
  }
  /// So many messages, taken in, marked and delivered.
  void talk(std::size_t count, const std::string& topic = "text") {
    for (std::size_t i = 0; i < count; ++i) say(said(topic + " " + std::to_string(i)));
    poll();
    poll();
    deliver_all();
  }
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    poll();
    poll();
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const auto& entry : inbox("team-lead")) texts.push_back(json::value_to<std::string>(entry.at("text")));
    return texts;
  }
};

}  // namespace

TEST_CASE("what is read, recorded and old leaves the inbox, the newest ten and all that is unread stay as they are") {
  Talk world;
  world.talk(40);
  const std::string before = slurp(world.inboxes() / "team-lead.json");
  world.pass(minutes(59));
  CHECK(slurp(world.inboxes() / "team-lead.json") == before);
  world.pass(minutes(16));
  const auto left = world.texts();
  REQUIRE(left.size() == 10);
  CHECK(left.front() == "text 30");
  CHECK(left.back() == "text 39");
  CHECK(before.ends_with(slurp(world.inboxes() / "team-lead.json").substr(1)));
  CHECK(world.logged("inbox.compacted"));
  CHECK(world.team->housekeeping().compacted().entries == 30);
  const auto rows = world.ledger->messages().latest({"t", "w1", "", 0}, 100);
  REQUIRE(rows);
  REQUIRE(rows->size() == 40);
  CHECK(rows->front().raw.empty());
  CHECK(rows->front().message == *decode_entry(Talk::said("text 0")));
}

TEST_CASE("what comes after a compaction is taken in, marked and delivered once, also after a restart") {
  Talk world;
  world.talk(40);
  world.pass(hours(2));
  REQUIRE(world.texts().size() == 10);
  world.say(Talk::said("new"));
  world.poll();
  world.poll();
  CHECK(world.all_read());
  const auto received = world.receive();
  REQUIRE(received.size() == 1);
  CHECK(received.front().text == "new");
  world.deliver_all();
  world.restart();
  world.poll();
  world.poll();
  CHECK(world.receive().empty());
  CHECK(world.texts().size() == 11);
}

TEST_CASE("our own removal is no sign of another consumer, and a real one is still noticed") {
  Talk world;
  for (int round = 0; round < 4; ++round) {
    world.talk(40, "round " + std::to_string(round));
    world.pass(hours(2));
    REQUIRE(world.texts().size() == 10);
  }
  CHECK_FALSE(world.logged("inbox.competing_consumer"));
  CHECK_FALSE(world.team->context().membership.role == handlers::EffectiveRole::paused);
  world.write_lead({});
  world.poll();
  CHECK(world.logged("inbox.competing_consumer"));
}

TEST_CASE("an older copy of the file that a peer puts back is no sign of another consumer, and nothing comes twice") {
  Talk world;
  world.talk(40);
  const std::string before = slurp(world.inboxes() / "team-lead.json");
  for (int round = 0; round < 3; ++round) {
    world.pass(hours(2));
    REQUIRE(world.texts().size() == 10);
    spill(world.inboxes() / "team-lead.json", before);
    world.poll();
    world.poll();
  }
  CHECK_FALSE(world.logged("inbox.competing_consumer"));
  CHECK(world.receive().empty());
  CHECK(world.ledger->messages().latest({"t", "", "", 0}, 100)->size() == 40);
}

TEST_CASE("only a leader that is alone compacts, and only when that is wanted") {
  const auto stays = [](const std::function<void(config::TeamConfig&)>& adapt) {
    Talk world(adapt);
    for (std::size_t i = 0; i < 40; ++i) {
      std::string entry = Talk::said("text " + std::to_string(i));
      entry.replace(entry.find("\"read\": false"), 13, "\"read\": true");
      world.say(entry);
    }
    const std::string before = slurp(world.inboxes() / "team-lead.json");
    world.poll();
    world.pass(hours(2));
    return slurp(world.inboxes() / "team-lead.json") == before;
  };
  CHECK_FALSE(stays([](config::TeamConfig&) {}));
  CHECK(stays([](config::TeamConfig& config) { config.team.role = config::Role::interceptor; }));
  CHECK(stays([](config::TeamConfig& config) { config.team.role = config::Role::observer; }));
  CHECK(stays([](config::TeamConfig& config) { config.compaction.enabled = false; }));
  CHECK(stays([](config::TeamConfig& config) { config.compaction.entries = 40; }));
}

TEST_CASE("a leader that has seen a sign of another consumer leaves the file alone until that is past") {
  Talk world;
  world.talk(40);
  world.clock.advance(hours(2));
  std::string flipped = Talk::said("somebody was faster");
  flipped.replace(flipped.find("\"read\": false"), 13, "\"read\": true");
  world.say(flipped);
  world.poll();
  REQUIRE(world.logged("inbox.competing_consumer"));
  world.pass(minutes(9));
  CHECK(world.texts().size() == 41);
  world.pass(minutes(2));
  CHECK(world.texts().size() == 10);
}

TEST_CASE("what is still on its way to the lead, and a request that is open, stay in the inbox") {
  Talk world([](config::TeamConfig& config) { config.permissions.timeout = hours(24); });
  world.say(World::entry("w1", World::request("perm-1", "rm x"), 5));
  world.say(Talk::said("lent to nobody yet"));
  world.poll();
  static_cast<void>(world.receive());  // offered, and not acknowledged
  std::vector<std::string> before = world.texts();
  for (std::size_t i = 0; i < 40; ++i) world.say(Talk::said(std::to_string(i)));
  world.poll();
  world.poll();
  const auto others = world.receive();
  for (const auto& message : others) REQUIRE(world.team->delivery().acknowledge({message.key.value}));
  world.pass(hours(2));
  const auto left = world.texts();
  REQUIRE(left.size() == 12);
  CHECK(left[0] == before[0]);
  CHECK(left[1] == "lent to nobody yet");
}

TEST_CASE("messages without a time stamp stay: an equal one later is a message of its own") {
  Talk world;
  world.say(R"({"from": "w1", "text": "again", "read": false})");
  world.talk(40);
  world.pass(hours(2));
  CHECK(world.texts().size() == 11);
  world.say(R"({"from": "w1", "text": "again", "read": false})");
  world.poll();
  REQUIRE(world.receive().size() == 1);
}

TEST_CASE("an equal of a message that has left is not delivered, as it would not have been before") {
  Talk world;
  world.talk(40);
  world.pass(hours(2));
  world.say(Talk::said("text 0"));
  world.poll();
  world.poll();
  CHECK(world.receive().empty());
  CHECK(world.all_read());
}

TEST_CASE("age counts from our own receipt, whatever the sender claims") {
  Talk world;
  world.talk(40);  // with time stamps of 2026-02-07
  const std::string bytes = slurp(world.inboxes() / "team-lead.json");
  Talk later;  // a ledger that never saw this file
  spill(later.inboxes() / "team-lead.json", bytes);
  later.poll();
  later.pass(minutes(59));
  CHECK(later.texts().size() == 40);
  later.pass(minutes(16));
  CHECK(later.texts().size() == 10);
}

TEST_CASE("nothing leaves while the ledger's copy of one of them is not as it was written") {
  Talk world;
  world.talk(40);
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, "UPDATE messages SET text = '0' WHERE id = 7", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
  world.pass(hours(2));
  world.pass(hours(2));
  CHECK(world.texts().size() == 40);
  const std::string log = world.log();
  const auto told = log.find("read messages stay in the inbox");
  REQUIRE(told != std::string::npos);
  CHECK(log.find("read messages stay in the inbox", told + 1) == std::string::npos);
}

TEST_CASE("an entry that the ledger does not have stays") {
  Talk world;
  world.talk(40);
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, "DELETE FROM messages WHERE id IN (5, 7)", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
  world.pass(hours(2));
  const auto left = world.texts();
  REQUIRE(left.size() == 12);
  CHECK(left[0] == "text 4");
  CHECK(left[1] == "text 6");
}

TEST_CASE("a fault on the way leaves the file as it was and is told once") {
  Talk world;
  world.talk(40);
  const std::string before = slurp(world.inboxes() / "team-lead.json");
  world.clock.advance(hours(2));
  fs::create_directory(world.inboxes() / "team-lead.json.lock");
  spill(world.inboxes() / "team-lead.json.lock/x", "data");
  world.pass(minutes(5));
  world.pass(minutes(5));
  CHECK(slurp(world.inboxes() / "team-lead.json") == before);
  fs::remove_all(world.inboxes() / "team-lead.json.lock");
  world.pass(minutes(20));
  CHECK(world.texts().size() == 10);
}

TEST_CASE("what has left stays in the ledger for the retention, and an hour more when it is over already") {
  Talk world([](config::TeamConfig& config) { config.limits.retention = hours(3); });
  world.talk(40);
  const auto kept = [&] { return world.ledger->messages().latest({"t", "", "", 0}, 100)->size(); };
  world.pass(minutes(170));
  REQUIRE(world.texts().size() == 10);
  CHECK(kept() == 40);
  world.pass(minutes(61));  // past the retention: pruned but for what has just left and what is in the file
  CHECK(kept() == 40);
  world.pass(minutes(61));
  CHECK(kept() == 10);
}

}  // namespace inbox_poller::team_compaction_test

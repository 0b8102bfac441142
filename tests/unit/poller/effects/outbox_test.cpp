// What is owed to an inbox: it goes together, in its order, and what is in the way is told once.
#include "poller/effects/outbox.hpp"

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::outbox_test {

using namespace inbox_poller::test;

namespace {

using Texts = std::vector<std::string>;

void owe(World& world, const std::string& inbox, const std::string& text) {
  OutboxRow row;
  row.team = "t";
  row.inbox = inbox;
  row.message = {"team-lead", text, "", "2026-02-07T15:20:10.000Z", "", ""};
  row.key = schema::make_message_key({"t", inbox}, row.message.from, row.message.timestamp, text, 0);
  row.created_ms = world.clock.wall_ms();
  REQUIRE(world.ledger->outbox().enqueue(row));
}

Texts texts(World& world, const std::string& inbox) {
  Texts found;
  for (const auto& entry : world.memory->box(inbox)) found.push_back(entry.message.text.substr(0, 10));
  return found;
}

std::vector<OutboxRow> pending(World& world, const std::string& inbox) {
  std::vector<OutboxRow> found;
  const auto oldest = *world.ledger->outbox().due("t", std::numeric_limits<EpochMs>::max() - 10'000, 100);
  for (const auto& first : oldest) {
    if (first.inbox != inbox) continue;
    found = *world.ledger->outbox().behind(first, 10'000);
    found.insert(found.begin(), first);
  }
  return found;
}

}  // namespace

TEST_CASE("what is owed to one inbox is posted in few steps and recorded in as few, all of it in order") {
  World world;
  world.poll();
  Texts expected;
  for (int i = 0; i < 600; ++i) {
    owe(world, "w1", "reply " + std::to_string(i));
    expected.push_back("reply " + std::to_string(i));
  }
  owe(world, "w2", "another's");
  const long posts = world.memory->posts(), commits = static_cast<long>(world.commits->transactions());
  world.poll();
  CHECK(texts(world, "w1") == expected);
  CHECK(texts(world, "w2") == Texts{"another's"});
  CHECK(*world.ledger->outbox().owed("t") == 0);
  CHECK(world.memory->posts() - posts <= 4);
  CHECK(static_cast<long>(world.commits->transactions()) - commits <= 4);
}

TEST_CASE("of all that waits for a held inbox the first is told of, and the others wait behind it untouched") {
  World world;
  world.poll();
  for (const char* text : {"one", "two", "three"}) owe(world, "w1", text);
  owe(world, "w2", "another's");
  world.hold("w1");
  world.poll();
  CHECK(texts(world, "w2") == Texts{"another's"});
  const auto waiting = pending(world, "w1");
  REQUIRE(waiting.size() == 3);
  CHECK((waiting[0].attempts == 1 && waiting[0].last_problem.find("held by a peer") != std::string::npos));
  CHECK((waiting[1].attempts == 0 && waiting[2].attempts == 0 && waiting[2].last_problem.empty()));
  world.hold("w1", false);
  world.clock.advance(std::chrono::seconds(2));
  world.poll();
  CHECK(texts(world, "w1") == Texts{"one", "two", "three"});
}

TEST_CASE("what is too much for one step does not go ahead of what had to wait") {
  World world;
  world.poll();
  for (const char* text : {"the first ", "the second", "the third "}) owe(world, "w1", text + std::string(200'000, 'x'));
  world.memory->obstruct_once("w1", {WriteStatus::busy, "held by a peer"});
  world.poll();
  CHECK(texts(world, "w1") == Texts{"the first ", "the second", "the third "});
}

TEST_CASE("a reply that no inbox takes holds up none of its neighbors, and is tried again") {
  World world;
  world.poll();
  const std::string refused(MemoryMailbox::refused_text);
  for (const std::string& text : {std::string("one"), refused, std::string("two")}) owe(world, "w1", text);
  world.poll();
  CHECK(texts(world, "w1") == Texts{"one", "two"});
  auto waiting = pending(world, "w1");
  REQUIRE(waiting.size() == 1);
  CHECK((waiting[0].message.text == refused && waiting[0].attempts == 1));
  owe(world, "w1", "three");
  world.clock.advance(std::chrono::seconds(2));
  world.poll();
  CHECK(texts(world, "w1") == Texts{"one", "two", "three"});
  waiting = pending(world, "w1");
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0].attempts == 2);
}

}  // namespace inbox_poller::outbox_test

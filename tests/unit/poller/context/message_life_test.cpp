// What a message's life looks like when it is put together from its row and from the lines that were kept.
#include "poller/context/message_life.hpp"

#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::message_life_test {

using namespace inbox_poller::test;

namespace {

MessageRow delivered_row() {
  MessageRow row;
  row.team = "t";
  row.inbox = "team-lead";
  row.key = {"k"};
  row.sender = "w1";
  row.type = "chat";
  row.received_ms = 1000;
  row.delivery = DeliveryState::delivered;
  row.method = "recv";
  row.attempts = 1;
  row.offered_ms = 1010;
  row.delivered_ms = 1042;
  row.confirmed = Confirmation::acknowledged;
  return row;
}

/// "1000 message.accepted" and so on.
std::vector<std::string> told(const std::vector<HistoryRow>& lines) {
  std::vector<std::string> told;
  for (const auto& line : lines) told.push_back(std::to_string(line.at_ms) + ' ' + line.event);
  return told;
}

using Lines = std::vector<std::string>;

std::vector<HistoryRow> life_in(World& world, const schema::MessageKey& key) {
  return life_of(**world.ledger->messages().find(key), *world.ledger->history().of_message(key));
}

Lines events(const std::vector<HistoryRow>& lines) {
  Lines events;
  for (const auto& line : lines) events.push_back(line.event);
  return events;
}

}  // namespace

TEST_CASE("a row tells of its acceptance, its offer and its delivery, with what the log said of them") {
  const auto life = life_of(delivered_row(), {});
  REQUIRE(told(life) == Lines{"1000 message.accepted", "1010 delivery.offered", "1042 delivery.delivered"});
  CHECK(life[0].detail == "inbox=team-lead  from=w1  type=chat  disposition=queued");
  CHECK(life[1].detail == "from=w1  method=recv  attempts=1");
  CHECK(life[2].detail == "from=w1  method=recv  confirmed=acknowledged  latency_ms=42");
  CHECK((life[0].team == "t" && life[0].message_key == "k"));
}

TEST_CASE("what an older program kept as a line is not told twice") {
  const std::vector<HistoryRow> kept{{1000, "t", "k", "", "message.accepted", "as it was"},
                                     {1010, "t", "k", "", "delivery.offered", "as it was"},
                                     {1042, "t", "k", "", "delivery.delivered", "as it was"}};
  const auto life = life_of(delivered_row(), kept);
  REQUIRE(life.size() == 3);
  for (const auto& line : life) CHECK(line.detail == "as it was");
}

TEST_CASE("an earlier offer that was kept stands before the one that the row knows") {
  auto row = delivered_row();
  row.attempts = 2;
  row.offered_ms = 1030;
  const std::vector<HistoryRow> kept{{1010, "t", "k", "", "delivery.offered", "first"},
                                     {1020, "t", "k", "", "delivery.requeued", ""}};
  CHECK(told(life_of(row, kept)) == Lines{"1000 message.accepted", "1010 delivery.offered", "1020 delivery.requeued",
                                          "1030 delivery.offered", "1042 delivery.delivered"});
}

TEST_CASE("a row that was taken in with a remark, or that belongs to a request, has its line in the history") {
  auto row = delivered_row();
  row.delivery = DeliveryState::none;
  row.attempts = 0;
  row.reason = "was already marked read when it was first seen";
  CHECK(life_of(row, {}).empty());
  row.reason.clear();
  row.request_id = "perm-1";
  CHECK(life_of(row, {}).empty());
  row.request_id.clear();
  row.disposition = Disposition::status;
  CHECK(life_of(row, {}).at(0).detail == "inbox=team-lead  from=w1  type=chat  disposition=status");
}

TEST_CASE("what was lent out, came back and was lent out again is told in order, and costs a line for what came back") {
  World world;
  world.write_lead({World::entry("w1", "hello")});
  world.poll();
  const auto first = world.receive();
  REQUIRE(first.size() == 1);
  const auto& key = first[0].key;
  CHECK(world.ledger->history().of_message(key)->empty());
  CHECK(events(life_in(world, key)) == Lines{"message.accepted", "delivery.offered"});

  world.clock.advance(std::chrono::seconds(1));
  world.team->delivery().requeue(first);
  CHECK(events(life_in(world, key)) == Lines{"message.accepted", "delivery.offered", "delivery.requeued"});

  world.clock.advance(std::chrono::seconds(1));
  REQUIRE(world.receive().size() == 1);
  REQUIRE(world.team->delivery().acknowledge({key.value}));
  const Lines all{"message.accepted", "delivery.offered", "delivery.requeued", "delivery.offered",
                  "delivery.delivered"};
  const auto life = life_in(world, key);
  CHECK(events(life) == all);
  CHECK(life[1].at_ms + 2000 == life[3].at_ms);
  CHECK(events(*world.ledger->history().of_message(key)) == Lines{"delivery.offered", "delivery.requeued"});
}

TEST_CASE("an acknowledgment that comes after it was taken back tells of one offer") {
  World world;
  world.write_lead({World::entry("w1", "hello")});
  world.poll();
  const auto leased = world.receive();
  world.team->delivery().requeue(leased);
  REQUIRE(world.team->delivery().acknowledge({leased.at(0).key.value}));
  CHECK(events(life_in(world, leased.at(0).key)) ==
        Lines{"message.accepted", "delivery.offered", "delivery.requeued", "delivery.delivered"});
}

}  // namespace inbox_poller::message_life_test

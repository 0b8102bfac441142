#include "poller/mailbox/arrays/other_consumers.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::other_consumers_test {

using namespace inbox_poller::poller;

namespace {

struct Message {
  std::string text;
  bool read = false;
};

poller::InboxDocument inbox(const std::vector<Message>& messages) {
  std::string bytes = "[";
  for (const auto& message : messages)
    bytes += std::string(bytes.size() > 1 ? "," : "") + R"({"from":"w1","text":")" + message.text +
             R"(","timestamp":"2026-02-07T15:20:46.348Z","read":)" + (message.read ? "true" : "false") + "}";
  return poller::InboxDocument::scan(bytes + "]", {"t", "team-lead"});
}

}  // namespace

TEST_CASE("the first reading says nothing about what was before it") {
  OtherConsumers witness;
  const auto sighting = witness.look(inbox({{"a", true}, {"b", false}}), 1000);
  CHECK(sighting.flipped.empty());
  CHECK(sighting.consumed.empty());
  CHECK_FALSE(sighting.swept);
}

TEST_CASE("what somebody flips or removes was consumed, and how long it waited is known") {
  OtherConsumers witness;
  static_cast<void>(witness.look(inbox({{"a"}, {"b"}, {"c"}}), 1000));
  const auto waiting = witness.waiting();
  CHECK(waiting.unread == 3);
  CHECK(waiting.oldest_ms == 1000);
  const auto sighting = witness.look(inbox({{"a", true}, {"c"}}), 1700);
  REQUIRE(sighting.consumed.size() == 2);
  CHECK(sighting.consumed[0].waited_ms == 700);
  CHECK(sighting.consumed[1].waited_ms == 700);
  CHECK(witness.waiting().unread == 1);
}

TEST_CASE("what we marked ourselves is nobody's doing, also when a peer takes the flag back") {
  OtherConsumers witness;
  const auto first = inbox({{"a"}});
  static_cast<void>(witness.look(first, 1000));
  witness.marked_by_us(first.entries()[0].key);
  CHECK(witness.look(inbox({{"a", true}, {"b"}}), 1500).consumed.empty());
  CHECK(witness.look(inbox({{"a", false}, {"b"}}), 2000).consumed.empty());
  CHECK(witness.look(inbox({{"a", true}, {"b"}}), 2500).consumed.empty());
}

TEST_CASE("a message that is new and read already was taken by somebody before us") {
  OtherConsumers witness;
  static_cast<void>(witness.look(inbox({}), 1000));
  CHECK(witness.look(inbox({{"a", true}}), 1500).flipped.size() == 1);
}

TEST_CASE("all read entries gone at once is a sweep - some of them gone is not") {
  OtherConsumers witness;
  static_cast<void>(witness.look(inbox({{"a", true}, {"b", true}, {"c"}}), 1000));
  CHECK_FALSE(witness.look(inbox({{"b", true}, {"c"}}), 1500).swept);
  CHECK(witness.look(inbox({{"c"}}), 2000).swept);
  CHECK_FALSE(witness.look(inbox({{"c"}}), 2500).swept);
}

TEST_CASE("what we removed ourselves is missed by nobody, and what somebody else removes with it is") {
  OtherConsumers witness;
  const auto first = inbox({{"a", true}, {"b", true}, {"c"}});
  static_cast<void>(witness.look(first, 1000));
  witness.removed_by_us(first.entries()[0].key);
  SECTION("all that is read") {
    witness.removed_by_us(first.entries()[1].key);
    CHECK_FALSE(witness.look(inbox({{"c"}}), 1500).swept);
  }
  SECTION("a part, and somebody the rest") { CHECK(witness.look(inbox({{"c"}}), 1500).swept); }
}

TEST_CASE("what the mailbox knows and left out is there, read, and nothing new") {
  OtherConsumers witness;
  const auto first = inbox({{"a", true}, {"b", true}});
  static_cast<void>(witness.look(first, 1000));
  witness.leave_to_mailbox(first, 2);
  const auto sighting = witness.look(inbox({{"c"}}), 1500, {2, 2});
  CHECK(sighting.flipped.empty());
  CHECK(sighting.consumed.empty());
  CHECK_FALSE(sighting.swept);
  CHECK(witness.waiting().unread == 1);
}

TEST_CASE("of what the mailbox knew, all of it going at once is noticed, and a part of it is not") {
  OtherConsumers witness;
  const auto first = inbox({{"a", true}, {"b", true}});
  static_cast<void>(witness.look(first, 1000));
  witness.leave_to_mailbox(first, 2);
  SECTION("all") { CHECK(witness.look(inbox({{"c"}}), 1500, {2, 0}).swept); }
  SECTION("a part") { CHECK_FALSE(witness.look(inbox({{"c"}}), 1500, {2, 1}).swept); }
}

}  // namespace inbox_poller::other_consumers_test

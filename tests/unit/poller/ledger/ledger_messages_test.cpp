#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_messages_test {
namespace {

std::vector<std::string> keys(const std::vector<MessageRow>& rows) {
  std::vector<std::string> keys;
  for (const auto& row : rows) keys.push_back(name_of(row.key));
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("a message is known from its insertion on, and comes back as it was") {
  auto ledger = in_memory();
  MessageRow row = chat_row("k1", 7);
  row.code = "some.code";
  row.reason = "a sentence";
  row.request_id = "r-1";
  row.method = "recv";
  row.offered_ms = 5;
  row.delivered_ms = 6;
  row.attempts = 3;
  CHECK_FALSE(must(ledger->messages().known(named("k1"))));
  CHECK_FALSE(must(ledger->messages().find(named("k1"))).has_value());
  const long long id = must(ledger->messages().insert(row));
  CHECK(must(ledger->messages().known(named("k1"))));
  const MessageRow back = must(ledger->messages().find(named("k1"))).value();
  CHECK(back.id == id);
  CHECK(back.team == row.team);
  CHECK(back.inbox == row.inbox);
  CHECK(back.sender == row.sender);
  CHECK(back.message.timestamp == row.message.timestamp);
  CHECK(back.type == row.type);
  CHECK((back.message.from == "ann" && back.message.text == "hello" && back.raw.empty()));
  CHECK(back.disposition == Disposition::chat);
  CHECK(back.code == row.code);
  CHECK(back.reason == row.reason);
  CHECK(back.request_id == row.request_id);
  CHECK(back.received_ms == row.received_ms);
  CHECK(back.batch == 7);
  CHECK(back.delivery == DeliveryState::queued);
  CHECK(back.method == row.method);
  CHECK(back.offered_ms == 5);
  CHECK(back.delivered_ms == 6);
  CHECK(back.attempts == 3);
}

TEST_CASE("every disposition and delivery state survives the ledger") {
  auto ledger = in_memory();
  for (const auto disposition : {Disposition::chat, Disposition::control, Disposition::status, Disposition::rejected,
                                 Disposition::duplicate, Disposition::malformed}) {
    for (const auto delivery : {DeliveryState::none, DeliveryState::queued, DeliveryState::offered,
                                DeliveryState::delivered, DeliveryState::expired}) {
      MessageRow row =
          message_row(std::string(to_string(disposition)) + "/" + std::string(to_string(delivery)), disposition);
      row.delivery = delivery;
      must(ledger->messages().insert(row));
      const auto back = must(ledger->messages().find(row.key)).value();
      CHECK(back.disposition == disposition);
      CHECK(back.delivery == delivery);
    }
  }
}

TEST_CASE("the same key a second time is refused, and the first row stays") {
  auto ledger = in_memory();
  must(ledger->messages().insert(message_row("k1")));
  MessageRow again = message_row("k1");
  again.message.text = "other words";
  CHECK(code_of(ledger->messages().insert(again)) == "ledger.sql");
  CHECK(must(ledger->messages().find(named("k1")))->message.text == "hello");
}

TEST_CASE("no byte of any text is lost: NUL, invalid UTF-8, quotes, a megabyte") {
  auto ledger = in_memory();
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& hostile :
       {all, std::string("\0", 1), std::string("a\0b", 3), std::string("\xff\xfe\xc0\x80\xed\xa0\xbd"),
        std::string("'; DROP TABLE messages; --"), std::string("%_\\\"'"), std::string(),
        std::string(1 << 20, '\xe2')}) {
    MessageRow row = chat_row("key of " + schema::content_hash(hostile));
    row.team = row.inbox = row.sender = row.type = row.raw = row.code = row.reason = row.request_id = hostile;
    row.message = {hostile, hostile, hostile, hostile, hostile, hostile};
    must(ledger->messages().insert(row));
    const auto back = must(ledger->messages().find(row.key)).value();
    CHECK((back.key == row.key && back.team == hostile && back.inbox == hostile && back.sender == hostile));
    CHECK((back.type == hostile && back.raw == hostile && back.code == hostile));
    CHECK((back.reason == hostile && back.request_id == hostile));
    for (const auto* text : {&back.message.from, &back.message.text, &back.message.summary, &back.message.timestamp,
                             &back.message.color, &back.message.id})
      CHECK(*text == hostile);
    REQUIRE(must(ledger->deliveries().ready_messages(hostile, 0, 10)).size() == 1);
    must(ledger->deliveries().mark_offered({back.id}, hostile, 1));
    CHECK(must(ledger->messages().find(row.key))->method == hostile);
    must(ledger->history().add({1, hostile, row.key.value, hostile, hostile, hostile}));
    const auto history = must(ledger->history().of_request(hostile, hostile));
    REQUIRE(history.size() == 1);
    CHECK((history[0].event == hostile && history[0].detail == hostile && history[0].message_key == row.key.value));
  }
}

TEST_CASE("messages are found by the beginning of their key, and a prefix is never a pattern") {
  auto ledger = in_memory();
  for (const char* key : {"aa1", "aa2", "ab1", "b"}) must(ledger->messages().insert(message_row(key)));
  CHECK(keys(must(ledger->messages().like("6161", 10))) == Keys{"aa1", "aa2"});
  CHECK(keys(must(ledger->messages().like("61", 2))) == Keys{"aa1", "aa2"});
  CHECK(keys(must(ledger->messages().like("6", 10))) == Keys{"aa1", "aa2", "ab1", "b"});  // half a byte
  CHECK(keys(must(ledger->messages().like("61613", 10))) == Keys{"aa1", "aa2"});
  CHECK(keys(must(ledger->messages().like(named("aa1").value, 10))) == Keys{"aa1"});
  for (const char* none : {"%", "6_6", "61 ", "6G", "AA", "6161-", "-1"})
    CHECK(must(ledger->messages().like(none, 10)).empty());
  CHECK(must(ledger->messages().like("", 10)).size() == 4);
}

TEST_CASE("the quarantine shows refused and bad entries of one team, newest first") {
  auto ledger = in_memory();
  must(ledger->messages().insert(message_row("1", Disposition::rejected)));
  must(ledger->messages().insert(message_row("2", Disposition::control)));
  must(ledger->messages().insert(message_row("3", Disposition::malformed)));
  MessageRow other = message_row("4", Disposition::malformed);
  other.team = "blue";
  must(ledger->messages().insert(other));
  CHECK(keys(must(ledger->messages().quarantined("red", 10))) == Keys{"3", "1"});
  CHECK(keys(must(ledger->messages().quarantined("red", 1))) == Keys{"3"});
}

TEST_CASE("chat is offered in arrival order, up to the limit, and only of its team") {
  auto ledger = in_memory();
  for (const char* key : {"1", "2", "3"}) must(ledger->messages().insert(chat_row(key)));
  must(ledger->messages().insert(message_row("control")));
  MessageRow other = chat_row("4");
  other.team = "blue";
  must(ledger->messages().insert(other));
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 10))) == Keys{"1", "2", "3"});
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 2))) == Keys{"1", "2"});
}

TEST_CASE("chat waits for the effects of its own and earlier batches, never for later ones") {
  auto ledger = in_memory();
  must(ledger->messages().insert(chat_row("of batch 1", 1)));
  must(ledger->messages().insert(chat_row("of batch 2", 2)));
  must(ledger->messages().insert(chat_row("of batch 3", 3)));
  OutboxRow owed = outbox_row("ann", "reply");
  owed.batch = 2;
  owed.created_ms = 5000;
  must(ledger->outbox().enqueue(owed));
  const long long id = must(ledger->outbox().due("red", 9999, 1)).at(0).id;

  SECTION("the batch that owes an effect and all after it are held") {
    CHECK(keys(must(ledger->deliveries().ready_messages("red", 4999, 10))) == Keys{"of batch 1"});
  }
  SECTION("an effect that is not younger than the grace time holds nobody up") {
    CHECK(must(ledger->deliveries().ready_messages("red", 5000, 10)).size() == 3);
  }
  SECTION("another team's effect holds nobody up") {
    must(ledger->outbox().set(id, EffectState::done, 1, 0, ""));
    owed.team = "blue";
    must(ledger->outbox().enqueue(owed));
    CHECK(must(ledger->deliveries().ready_messages("red", 0, 10)).size() == 3);
  }
  for (const auto state : {EffectState::written, EffectState::done, EffectState::dead}) {
    DYNAMIC_SECTION("an effect that is " << to_string(state) << " holds nobody up") {
      must(ledger->outbox().set(id, state, 1, 0, ""));
      CHECK(must(ledger->deliveries().ready_messages("red", 0, 10)).size() == 3);
    }
  }
}

TEST_CASE("chat goes queued, offered, delivered - back to queued when the method went away, and the attempts tell") {
  auto ledger = in_memory();
  const long long id = must(ledger->messages().insert(chat_row("1")));
  must(ledger->deliveries().mark_offered({id}, "recv", 2000));
  CHECK(must(ledger->deliveries().ready_messages("red", 0, 10)).empty());
  auto row = must(ledger->messages().find(named("1"))).value();
  CHECK((row.delivery == DeliveryState::offered && row.method == "recv" && row.offered_ms == 2000 && row.attempts == 1));

  must(ledger->deliveries().requeue("blue", {id}));
  CHECK(must(ledger->deliveries().ready_messages("red", 0, 10)).empty());  // another team's method takes nothing back
  must(ledger->deliveries().requeue("red", {id}));
  must(ledger->deliveries().mark_offered({id}, "exec", 3000));
  CHECK(must(ledger->messages().find(named("1")))->attempts == 2);
  CHECK(must(ledger->messages().find(named("1")))->method == "exec");

  must(ledger->deliveries().mark_delivered({id}, 4000));
  row = must(ledger->messages().find(named("1"))).value();
  CHECK((row.delivery == DeliveryState::delivered && row.delivered_ms == 4000));
}

TEST_CASE("what is delivered stays delivered") {
  auto ledger = in_memory();
  const long long id = must(ledger->messages().insert(chat_row("1")));
  must(ledger->deliveries().mark_offered({id}, "recv", 1));
  must(ledger->deliveries().mark_delivered({id}, 2));
  must(ledger->deliveries().mark_delivered({id}, 3));
  must(ledger->deliveries().requeue("red", {id}));
  must(ledger->deliveries().requeue_all_offered());
  must(ledger->deliveries().mark_offered({id}, "exec", 4));
  const auto row = must(ledger->messages().find(named("1"))).value();
  CHECK((row.delivery == DeliveryState::delivered && row.delivered_ms == 2 && row.method == "recv" && row.attempts == 1));
}

TEST_CASE("an acknowledgment that comes after the requeue still counts") {
  auto ledger = in_memory();
  const long long id = must(ledger->messages().insert(chat_row("1")));
  must(ledger->deliveries().mark_offered({id}, "recv", 1));
  must(ledger->deliveries().requeue_all_offered());
  must(ledger->deliveries().mark_delivered({id}, 2));
  CHECK(must(ledger->messages().find(named("1")))->delivery == DeliveryState::delivered);
}

TEST_CASE("a control message is never delivered as chat, whatever ids a method names") {
  auto ledger = in_memory();
  const long long id = must(ledger->messages().insert(message_row("control")));
  must(ledger->deliveries().mark_offered({id, 4711, -1}, "recv", 1));
  must(ledger->deliveries().mark_delivered({id, 4711, -1}, 2));
  CHECK(must(ledger->messages().find(named("control")))->delivery == DeliveryState::none);
}

TEST_CASE("at start everything offered is queued again, and the counts say so") {
  auto ledger = in_memory();
  std::vector<long long> ids;
  for (const char* key : {"1", "2", "3", "4"}) ids.push_back(must(ledger->messages().insert(chat_row(key))));
  must(ledger->deliveries().mark_offered({ids[0], ids[1], ids[2]}, "recv", 1));
  must(ledger->deliveries().mark_delivered({ids[0]}, 2));
  auto counts = must(ledger->deliveries().counts("red"));
  CHECK((counts.queued == 1 && counts.offered == 2 && counts.delivered == 1));
  must(ledger->deliveries().requeue_all_offered());
  counts = must(ledger->deliveries().counts("red"));
  CHECK((counts.queued == 3 && counts.offered == 0 && counts.delivered == 1));
  CHECK(must(ledger->deliveries().counts("blue")).queued == 0);
}

TEST_CASE("the latest messages that fit come oldest first") {
  auto ledger = in_memory();
  for (int i = 1; i <= 6; ++i) {
    MessageRow row = message_row("k" + std::to_string(i));
    row.received_ms = 1000 * i;
    row.sender = i % 2 == 0 ? "bob" : "ann";
    row.type = i % 3 == 0 ? "idle_notification" : "text";
    row.team = i == 6 ? "blue" : "red";
    must(ledger->messages().insert(row));
  }
  CHECK(keys(must(ledger->messages().latest({}, 100))) == Keys{"k1", "k2", "k3", "k4", "k5", "k6"});
  CHECK(keys(must(ledger->messages().latest({}, 2))) == Keys{"k5", "k6"});
  CHECK(keys(must(ledger->messages().latest({"red", "", "", 0}, 2))) == Keys{"k4", "k5"});
  CHECK(keys(must(ledger->messages().latest({"", "bob", "", 0}, 100))) == Keys{"k2", "k4", "k6"});
  CHECK(keys(must(ledger->messages().latest({"", "", "idle_notification", 0}, 100))) == Keys{"k3", "k6"});
  CHECK(keys(must(ledger->messages().latest({"", "", "", 5000}, 100))) == Keys{"k5", "k6"});
  CHECK(keys(must(ledger->messages().latest({"red", "bob", "text", 3000}, 100))) == Keys{"k4"});
}

TEST_CASE("the last roster of each team is read as it was written, whatever its bytes") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  const std::string odd_bytes("{\"name\":\"r\xff\0d\"}\n", 16);
  const std::uint64_t file = ~std::uint64_t{0};
  {
    auto ledger = must(Ledger::open(path));
    must(ledger->rosters().put("red", {"older", 1, 1}));
    must(ledger->rosters().put("blue", {"other", 2, 2}));
    must(ledger->rosters().put("red", {odd_bytes, file, 3}));
    const auto row = must(ledger->rosters().find("red")).value();
    CHECK((row.bytes == odd_bytes && row.file == file && row.seen_ms == 3));
    CHECK(must(ledger->rosters().find("blue"))->bytes == "other");
  }
  REQUIRE(Operator(path).run("UPDATE rosters SET inode = 8 WHERE team = 'red'") == SQLITE_OK);
  CHECK(code_of(must(Ledger::open(path))->rosters().find("red")) == "ledger.damaged");
}

}  // namespace inbox_poller::poller::ledger_test::ledger_messages_test

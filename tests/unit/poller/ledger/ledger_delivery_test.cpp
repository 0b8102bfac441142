// What may overtake, what is overdue, what becomes of messages that do not arrive, and how a delivery is known.
#include <algorithm>
#include <map>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_delivery_test {
namespace {

using Keys = std::vector<std::string>;

Keys keys(const std::vector<MessageRow>& rows) {
  Keys keys;
  for (const auto& row : rows) keys.push_back(name_of(row.key));
  return keys;
}

/// Puts one message of this sender into the queue; its key is what the test calls it.
long long put(Ledger& ledger, const std::string& sender, const std::string& key, Priority priority = Priority::chat,
              EpochMs received_ms = 1000, long long batch = 1) {
  MessageRow row = chat_row(key, batch);
  row.sender = sender;
  row.priority = priority;
  row.received_ms = received_ms;
  return must(ledger.messages().insert(row));
}

MessageRow row_of(Ledger& ledger, const std::string& key) { return must(ledger.messages().find(named(key))).value(); }

handlers::Request decided(const std::string& id, EpochMs decided_ms) {
  auto row = request_row(id, handlers::RequestState::denied);
  row.decided_ms = decided_ms;
  row.decided_by = "mona";
  return row;
}

}  // namespace

TEST_CASE("rows are moved by their ids whether these follow each other or not") {
  for (const bool has_gaps : {false, true}) {
    INFO(has_gaps);
    auto ledger = in_memory();
    auto& deliveries = ledger->deliveries();
    std::vector<long long> ids;
    for (const char* key : {"1", "2", "3", "4", "5"}) ids.push_back(put(*ledger, "ann", key));
    must(deliveries.mark_delivered({ids[1]}, 1));
    std::vector<long long> named(ids.begin(), ids.end() - 1);
    if (has_gaps) named.erase(named.begin() + 2);
    must(deliveries.mark_offered(named, "recv", 7));
    CHECK(row_of(*ledger, "1").offered_ms == 7);
    CHECK(row_of(*ledger, "2").delivery == DeliveryState::delivered);
    CHECK(row_of(*ledger, "2").attempts == 0);
    CHECK(row_of(*ledger, "3").delivery == (has_gaps ? DeliveryState::queued : DeliveryState::offered));
    CHECK(row_of(*ledger, "4").method == "recv");
    CHECK(row_of(*ledger, "5").delivery == DeliveryState::queued);
    CHECK(must(deliveries.queued_count("red")) == (has_gaps ? 2 : 1));
    auto moved = must(deliveries.mark_delivered(named, 8));
    std::sort(moved.begin(), moved.end());
    CHECK(moved == (has_gaps ? std::vector{ids[0], ids[3]} : std::vector{ids[0], ids[2], ids[3]}));
    CHECK(row_of(*ledger, "4").delivered_ms == 8);
    CHECK(row_of(*ledger, "5").delivery == DeliveryState::queued);
    must(deliveries.mark_offered({}, "recv", 9));
    CHECK(row_of(*ledger, "5").delivery == DeliveryState::queued);
  }
}

TEST_CASE("deliveries that are queued later are those that would have been queued at once") {
  for (const bool has_gaps : {false, true}) {
    INFO(has_gaps);
    auto ledger = in_memory();
    auto& deliveries = ledger->deliveries();
    std::vector<long long> ids;
    must(deliveries.waiting("red"));
    for (const char* key : {"1", "2", "3"}) {
      MessageRow row = chat_row(key);
      row.priority = Priority::urgent;
      const bool is_left = has_gaps && key == std::string("2");
      if (is_left) row.delivery = DeliveryState::none;
      const auto id = must(ledger->messages().insert(row, DeliveryTable::Queued::later));
      CHECK(row_of(*ledger, key).delivery == DeliveryState::none);
      if (!is_left) ids.push_back(id);
    }
    CHECK(must(deliveries.waiting("red"))->all == (has_gaps ? 2 : 3));
    must(deliveries.queue("red", Priority::urgent, ids));
    CHECK(must(deliveries.waiting("red"))->all == (has_gaps ? 2 : 3));
    CHECK(must(deliveries.queued_count("red")) == (has_gaps ? 2 : 3));
    const auto row = row_of(*ledger, "3");
    CHECK((row.delivery == DeliveryState::queued && row.priority == Priority::urgent && row.attempts == 0));
    CHECK(keys(must(deliveries.ready_messages("red", 0, 10))) == (has_gaps ? Keys{"1", "3"} : Keys{"1", "2", "3"}));
  }
}

TEST_CASE("what waits of a team is counted on as messages come and go, and anew when a transaction came to nothing") {
  auto ledger = in_memory();
  auto& deliveries = ledger->deliveries();
  const auto waits = [&](const std::string& team) {
    const auto* waiting = must(deliveries.waiting(team));
    std::map<std::string, long long> counts(waiting->by_sender.begin(), waiting->by_sender.end());
    counts[""] = waiting->all;
    return counts;
  };
  using Counts = std::map<std::string, long long>;
  CHECK(waits("red") == Counts{{"", 0}});

  const auto a1 = put(*ledger, "ann", "a1");
  const auto b1 = put(*ledger, "bob", "b1", Priority::urgent);
  put(*ledger, "bob", "b2");
  put(*ledger, "bob", "b3", Priority::digest);
  MessageRow left = chat_row("b4");
  left.sender = "bob";
  left.delivery = DeliveryState::none;
  left.id = must(ledger->messages().insert(left));
  CHECK(waits("red") == Counts{{"", 3}, {"ann", 1}, {"bob", 2}});
  CHECK(waits("blue") == Counts{{"", 0}});

  must(deliveries.mark_offered({a1, b1}, "recv", 1));
  CHECK(waits("red") == Counts{{"", 3}, {"ann", 1}, {"bob", 2}});
  CHECK(must(deliveries.mark_delivered({a1}, 1)) == std::vector<long long>{a1});
  CHECK(waits("red") == Counts{{"", 2}, {"bob", 2}});
  must(deliveries.requeue("red", {b1}));
  must(deliveries.adopt(left));
  must(deliveries.adopt(left));
  CHECK(waits("red") == Counts{{"", 3}, {"bob", 3}});
  must(deliveries.mark_expired({b1}, 1));
  CHECK(waits("red") == Counts{{"", 2}, {"bob", 2}});

  const auto undone = ledger->transaction([&]() -> Status {
    put(*ledger, "cid", "c1");
    CHECK(waits("red") == Counts{{"", 3}, {"bob", 2}, {"cid", 1}});
    Status outcome = Done{};
    must(ledger->attempt([&]() -> Status { put(*ledger, "dan", "d1"); return Error{"test", "no"}; }, outcome));
    CHECK(waits("red") == Counts{{"", 3}, {"bob", 2}, {"cid", 1}});
    return Error{"test", "no"};
  });
  CHECK_FALSE(undone.ok());
  CHECK(waits("red") == Counts{{"", 2}, {"bob", 2}});
}

TEST_CASE("urgent messages go first, among themselves as they came") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1");
  put(*ledger, "bob", "b1", Priority::urgent);
  put(*ledger, "cid", "c1");
  put(*ledger, "dan", "d1", Priority::urgent);
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 10))) == Keys{"b1", "d1", "a1", "c1"});
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 1))) == Keys{"b1"});
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 3))) == Keys{"b1", "d1", "a1"});
}

TEST_CASE("an urgent message takes along what its sender wrote before it, and overtakes nothing of its sender") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1");
  put(*ledger, "bob", "b1");
  put(*ledger, "bob", "b2");
  put(*ledger, "bob", "b3", Priority::urgent);
  put(*ledger, "bob", "b4");
  put(*ledger, "ann", "a2");
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 10))) == Keys{"b1", "b2", "b3", "a1", "b4", "a2"});
}

TEST_CASE("whatever is urgent, taken in batches of any size, each sender's messages come in their order, none twice") {
  for (const int size : {1, 3, 7, 100}) {
    auto ledger = in_memory();
    unsigned random = 12345;
    for (int i = 0; i < 120; ++i) {
      random = random * 1103515245U + 12345U;
      const unsigned draw = random >> 16U;
      put(*ledger, "w" + std::to_string(draw % 5), std::to_string(1000 + i),
          draw % 7 == 0 ? Priority::urgent : Priority::chat);
    }
    std::map<std::string, std::string> last;
    int seen = 0;
    for (auto rows = must(ledger->deliveries().ready_messages("red", 0, size)); !rows.empty();
         rows = must(ledger->deliveries().ready_messages("red", 0, size))) {
      for (const auto& row : rows) {
        INFO(row.sender << ": " << row.key.value << " after " << last[row.sender]);
        CHECK(last[row.sender] < row.key.value);
        last[row.sender] = row.key.value;
        ++seen;
        must(ledger->deliveries().mark_offered({row.id}, "recv", 1));
      }
    }
    CHECK(seen == 120);
  }
}

TEST_CASE("what urgency drags along is only of the same team, and only what may go at all") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1", Priority::chat, 1000, 1);
  put(*ledger, "ann", "a2", Priority::urgent, 1000, 2);
  MessageRow other = chat_row("other");
  other.team = "blue";
  other.priority = Priority::urgent;
  must(ledger->messages().insert(other));
  OutboxRow owed = outbox_row("ann", "reply");
  owed.batch = 2;
  owed.created_ms = 5000;
  must(ledger->outbox().enqueue(owed));
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 4999, 10))) == Keys{"a1"});
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 5000, 10))) == Keys{"a1", "a2"});
}

TEST_CASE("from a closed gate come only messages that waited long enough, with what their senders wrote before them") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1", Priority::chat, 1000);
  put(*ledger, "ann", "a2", Priority::chat, 3000);
  put(*ledger, "bob", "b1", Priority::chat, 3000);
  put(*ledger, "bob", "b2", Priority::urgent, 3000);
  put(*ledger, "bob", "b3", Priority::chat, 3000);
  constexpr EpochMs never = -1;
  const auto overdue = [&](EpochMs chat, EpochMs urgent) {
    return keys(must(ledger->deliveries().ready_messages("red", 0, 10, DeliveryTable::Overdue{chat, urgent})));
  };
  CHECK(overdue(never, never).empty());
  CHECK(overdue(999, never).empty());
  CHECK(overdue(1000, never) == Keys{"a1"});
  CHECK(overdue(never, 2999).empty());
  CHECK(overdue(never, 3000) == Keys{"b1", "b2"});
  CHECK(overdue(1000, 3000) == Keys{"b1", "b2", "a1"});
  CHECK(overdue(3000, never) == Keys{"b1", "b2", "a1", "a2", "b3"});  // b2 was written before b3
}

TEST_CASE("what seems to come from the future was recorded before the clock was put back: it is old, not young") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1", Priority::chat, 1'000'000'000, 2);
  constexpr EpochMs never = -1;
  CHECK(must(ledger->deliveries().ready_messages("red", 5000, 10, DeliveryTable::Overdue{never, never})).empty());
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 5000, 10, DeliveryTable::Overdue{4000, never}))) ==
        Keys{"a1"});
  OutboxRow owed = outbox_row("bob", "reply");
  owed.batch = 1;
  owed.created_ms = 1'000'000'000;
  must(ledger->outbox().enqueue(owed));
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 5000, 10))) == Keys{"a1"});
  CHECK(must(ledger->deliveries().ready_messages("red", 5000, 10, std::nullopt, DeliveryTable::Owed::of_any_age))
            .empty());
}

TEST_CASE("that what is owed counts at any age makes no message overdue") {
  auto ledger = in_memory();
  put(*ledger, "ann", "a1", Priority::chat, 10'000'000);
  const auto waits = DeliveryTable::Owed::of_any_age;
  CHECK(must(ledger->deliveries().ready_messages("red", 9'970'000, 10, DeliveryTable::Overdue{9'997'000, 9'997'000},
                                                 waits))
            .empty());
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 9'970'000, 10, DeliveryTable::Overdue{10'000'000, 0},
                                                      waits))) == Keys{"a1"});
}

TEST_CASE("status messages for a digest are no chat: not offered, not counted as queued, found oldest first") {
  auto ledger = in_memory();
  put(*ledger, "ann", "idle 1", Priority::digest);
  put(*ledger, "ann", "chat");
  put(*ledger, "bob", "idle 2", Priority::digest);
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 10))) == Keys{"chat"});
  CHECK(keys(must(ledger->deliveries().ready_messages("red", 0, 10, DeliveryTable::Overdue{9999, 9999}))) ==
        Keys{"chat"});
  CHECK(keys(must(ledger->deliveries().digest_material("red", 10))) == Keys{"idle 1", "idle 2"});
  CHECK(keys(must(ledger->deliveries().digest_material("red", 1))) == Keys{"idle 1"});
  CHECK(must(ledger->deliveries().digest_material("blue", 10)).empty());
  auto counts = must(ledger->deliveries().counts("red"));
  CHECK((counts.queued == 1 && counts.digest == 2));
  must(ledger->deliveries().mark_delivered({1, 3}, 5, Confirmation::none));  // summed up
  counts = must(ledger->deliveries().counts("red"));
  CHECK((counts.queued == 1 && counts.digest == 0 && counts.delivered == 0 && counts.assumed == 0));
}

TEST_CASE("what is given up has expired, and nothing brings it back") {
  auto ledger = in_memory();
  const long long queued = put(*ledger, "ann", "queued");
  const long long offered = put(*ledger, "ann", "offered");
  const long long delivered = put(*ledger, "ann", "delivered");
  must(ledger->deliveries().mark_offered({offered, delivered}, "recv", 2));
  CHECK(must(ledger->deliveries().mark_delivered({delivered, 4711}, 3)) == std::vector<long long>{delivered});
  must(ledger->deliveries().mark_expired({queued, offered, delivered}, 4));
  CHECK(row_of(*ledger, "queued").delivery == DeliveryState::expired);
  CHECK(row_of(*ledger, "queued").delivered_ms == 4);
  CHECK(row_of(*ledger, "offered").delivery == DeliveryState::expired);
  CHECK(row_of(*ledger, "delivered").delivery == DeliveryState::delivered);
  CHECK(row_of(*ledger, "delivered").delivered_ms == 3);

  must(ledger->deliveries().requeue_all_offered());
  must(ledger->deliveries().requeue("red", {queued, offered}));
  must(ledger->deliveries().mark_offered({queued}, "exec", 5));
  CHECK(must(ledger->deliveries().mark_delivered({queued, offered, delivered}, 6)).empty());
  CHECK(must(ledger->deliveries().ready_messages("red", 0, 10)).empty());
  CHECK(row_of(*ledger, "queued").delivery == DeliveryState::expired);
  CHECK(row_of(*ledger, "offered").method == "recv");
}

TEST_CASE("what has waited since a moment is found, whatever its priority, and only while it is queued") {
  auto ledger = in_memory();
  const long long old = put(*ledger, "ann", "old", Priority::chat, 1000);
  put(*ledger, "ann", "old status", Priority::digest, 1000);
  put(*ledger, "ann", "young", Priority::urgent, 1001);
  CHECK(must(ledger->deliveries().queued("red", 10, 999)).empty());
  CHECK(must(ledger->deliveries().queued("red", 10, 1000)).size() == 2);
  CHECK(must(ledger->deliveries().queued("red", 1, 1000)).size() == 1);
  CHECK(must(ledger->deliveries().queued("red", 10, 1001)).size() == 3);
  CHECK(must(ledger->deliveries().queued("blue", 10, 1001)).empty());
  must(ledger->deliveries().mark_offered({old}, "recv", 2));
  CHECK(keys(must(ledger->deliveries().queued("red", 10, 1000))) == Keys{"old status"});
}

TEST_CASE("a delivery is known by an acknowledgment, or assumed, and both are counted") {
  auto ledger = in_memory();
  const long long told = put(*ledger, "ann", "told");
  const long long written = put(*ledger, "ann", "written");
  const long long gone = put(*ledger, "ann", "gone");
  CHECK(row_of(*ledger, "told").confirmed == Confirmation::none);
  must(ledger->deliveries().mark_delivered({told}, 5));
  must(ledger->deliveries().mark_delivered({written}, 6, Confirmation::assumed));
  must(ledger->deliveries().mark_delivered({written}, 7, Confirmation::acknowledged));  // the first word counts
  must(ledger->deliveries().mark_expired({gone}, 8));
  CHECK(row_of(*ledger, "told").confirmed == Confirmation::acknowledged);
  CHECK(row_of(*ledger, "written").confirmed == Confirmation::assumed);
  CHECK(row_of(*ledger, "gone").confirmed == Confirmation::none);
  const auto counts = must(ledger->deliveries().counts("red"));
  CHECK((counts.delivered == 2 && counts.assumed == 1 && counts.expired == 1 && counts.queued == 0));
  CHECK(counts.oldest_queued_ms == 0);
}

TEST_CASE("the oldest queued message is the oldest of all priorities, digests excepted") {
  auto ledger = in_memory();
  put(*ledger, "ann", "status", Priority::digest, 500);
  CHECK(must(ledger->deliveries().counts("red")).oldest_queued_ms == 0);
  put(*ledger, "ann", "urgent", Priority::urgent, 3000);
  CHECK(must(ledger->deliveries().counts("red")).oldest_queued_ms == 3000);
  put(*ledger, "bob", "chat", Priority::chat, 4000);
  CHECK(must(ledger->deliveries().counts("red")).oldest_queued_ms == 3000);
  put(*ledger, "bob", "late", Priority::chat, 2000);  // the wall clock was put back
  CHECK(must(ledger->deliveries().counts("red")).oldest_queued_ms == 3000);
}

TEST_CASE("of the messages about a request the newest of its type is found") {
  auto ledger = in_memory();
  const auto about = [&](const std::string& key, const std::string& team, const std::string& type) {
    MessageRow row = chat_row(key);
    row.team = team;
    row.type = type;
    row.request_id = "r-1";
    must(ledger->messages().insert(row));
  };
  about("1", "red", "permission_requested");
  about("2", "red", "permission_requested");
  about("3", "red", "permission_request");
  about("4", "blue", "permission_requested");
  must(ledger->messages().insert(chat_row("about nothing")));
  CHECK(must(ledger->messages().about("red", "ann", "r-1", "permission_requested"))->key == named("2"));
  CHECK(must(ledger->messages().about("red", "ann", "r-1", "permission_request"))->key == named("3"));
  CHECK_FALSE(must(ledger->messages().about("red", "bob", "r-1", "permission_requested")).has_value());
  CHECK_FALSE(must(ledger->messages().about("red", "ann", "r-2", "permission_requested")).has_value());
  CHECK_FALSE(must(ledger->messages().about("red", "ann", "", "text")).has_value());
}

TEST_CASE("decisions are listed the last one first, of one team or of all, from a moment on") {
  auto ledger = in_memory();
  must(ledger->requests().put("red", decided("r-1", 100)));
  must(ledger->requests().put("red", decided("r-2", 300)));
  must(ledger->requests().put("blue", decided("r-3", 200)));
  must(ledger->requests().put("red", request_row("open", handlers::RequestState::pending)));
  const auto ids = [&](std::string_view team, EpochMs since, int limit) {
    Keys listed;
    for (const auto& [of, request] : must(ledger->requests().decisions(team, since, limit)))
      listed.push_back(of + "/" + request.request_id + " by " + request.decided_by);
    return listed;
  };
  CHECK(ids("red", 0, 10) == Keys{"red/r-2 by mona", "red/r-1 by mona"});
  CHECK(ids("", 0, 10) == Keys{"red/r-2 by mona", "blue/r-3 by mona", "red/r-1 by mona"});
  CHECK(ids("", 200, 10) == Keys{"red/r-2 by mona", "blue/r-3 by mona"});
  CHECK(ids("", 0, 1) == Keys{"red/r-2 by mona"});
  CHECK(ids("green", 0, 10).empty());
}

TEST_CASE("prune takes what was delivered or has expired, never what still waits") {
  auto ledger = in_memory();
  put(*ledger, "ann", "queued");
  put(*ledger, "ann", "status", Priority::digest);
  const long long offered = put(*ledger, "ann", "offered");
  const long long delivered = put(*ledger, "ann", "delivered");
  const long long expired = put(*ledger, "ann", "expired");
  must(ledger->deliveries().mark_offered({offered}, "recv", 1));
  must(ledger->deliveries().mark_delivered({delivered}, 2));
  must(ledger->deliveries().mark_expired({expired}, 3));
  CHECK(must(ledger->prune("red", 1'000'000, [](const schema::MessageKey&) { return false; })) == 2);
  CHECK(keys(must(ledger->messages().like("", 10))) == Keys{"offered", "queued", "status"});
}

TEST_CASE("confirmation and priority survive the ledger, and values it does not know are damage") {
  TemporaryDirectory directory;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  for (const auto confirmed : {Confirmation::none, Confirmation::acknowledged, Confirmation::assumed})
    for (const auto priority : {Priority::digest, Priority::chat, Priority::urgent}) {
      MessageRow row = chat_row(std::string(to_string(confirmed)) + std::to_string(static_cast<int>(priority)));
      row.confirmed = confirmed;
      row.priority = priority;
      must(ledger->messages().insert(row));
      CHECK(row_of(*ledger, name_of(row.key)).confirmed == confirmed);
      CHECK(row_of(*ledger, name_of(row.key)).priority == priority);
    }
  Operator hand(directory.file("ledger.db"));
  CHECK(hand.run("UPDATE deliveries SET priority = 3") != SQLITE_OK);
  CHECK(hand.run("UPDATE deliveries SET confirmed = 'perhaps'") != SQLITE_OK);
}

TEST_CASE("the lead's row comes back whole") {
  auto ledger = in_memory();
  must(ledger->leads().put("red", {handlers::LeadState::busy, 5, 9, "tool_used", "0b1c", "%3"}));
  const auto row = must(ledger->leads().find("red")).value();
  CHECK((row.state == handlers::LeadState::busy && row.since_ms == 5 && row.until_ms == 9));
  CHECK((row.by == "tool_used" && row.session == "0b1c" && row.pane == "%3"));
}

}  // namespace inbox_poller::poller::ledger_test::ledger_delivery_test

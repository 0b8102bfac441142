#include "ledger_support.hpp"
#include "poller/context/message_life.hpp"

namespace inbox_poller::poller::ledger_test::ledger_outbox_test {
namespace {

std::vector<std::string> entries(const std::vector<OutboxRow>& rows) {
  std::vector<std::string> entries;
  for (const auto& row : rows) entries.push_back(row.message.text);
  return entries;
}

using Entries = std::vector<std::string>;

}  // namespace

TEST_CASE("what is owed comes back byte for byte") {
  auto ledger = in_memory();
  OutboxRow row = outbox_row("ann", std::string("\0\xff reply", 8), "r-1");
  row.batch = 9;
  row.attempts = 2;
  row.next_ms = 1500;
  row.last_problem = "locked";
  must(ledger->outbox().enqueue(row));
  const auto back = must(ledger->outbox().of_request("red", "r-1")).at(0);
  CHECK((back.team == "red" && back.batch == 9 && back.inbox == "ann" && back.key == row.key));
  CHECK((back.message.text == row.message.text && back.request_id == "r-1" && back.state == EffectState::pending));
  CHECK((back.attempts == 2 && back.created_ms == 1000 && back.next_ms == 1500 && back.last_problem == "locked"));
}

TEST_CASE("the outbox returns every field of a reply that a mailbox writes") {
  auto ledger = in_memory();
  OutboxRow row = outbox_row("ann", "say \"hi\"\n\xc3\xa9/", "r-1");
  row.message.from = "team-lead";
  row.message.summary = "a summary";
  row.message.timestamp = "2026-02-07T15:20:46.348Z";
  row.message.id = "an-id";
  must(ledger->outbox().enqueue(row));
  const auto back = must(ledger->outbox().of_request("red", "r-1"));
  REQUIRE(back.size() == 1);
  CHECK(entry_text(back[0].message, "") == R"({
  "from": "team-lead",
  "text": "say \"hi\"\né/",
  "summary": "a summary",
  "timestamp": "2026-02-07T15:20:46.348Z",
  "id": "an-id"
})");
}

TEST_CASE("one row per inbox is due, the oldest - the next one waits until it is no longer pending") {
  auto ledger = in_memory();
  for (const char* entry : {"ann 1", "ann 2"}) must(ledger->outbox().enqueue(outbox_row("ann", entry)));
  must(ledger->outbox().enqueue(outbox_row("bob", "bob 1")));
  const auto first = must(ledger->outbox().due("red", 1000, 10));
  CHECK(entries(first) == Entries{"ann 1", "bob 1"});
  must(ledger->outbox().set(first[0].id, EffectState::written, 1, 0, ""));
  CHECK(entries(must(ledger->outbox().due("red", 1000, 10))) == Entries{"ann 2", "bob 1"});
  CHECK(entries(must(ledger->outbox().due("red", 1000, 1))) == Entries{"ann 2"});
  CHECK(must(ledger->outbox().due("blue", 1000, 10)).empty());
}

TEST_CASE("what waits behind a row is for its inbox, in order, and pending") {
  auto ledger = in_memory();
  for (const char* entry : {"ann 1", "ann 2", "ann 3", "ann 4"}) must(ledger->outbox().enqueue(outbox_row("ann", entry)));
  must(ledger->outbox().enqueue(outbox_row("bob", "bob 1")));
  const auto first = must(ledger->outbox().due("red", 1000, 10)).at(0);
  CHECK(entries(must(ledger->outbox().behind(first, 10))) == Entries{"ann 2", "ann 3", "ann 4"});
  const auto second = must(ledger->outbox().behind(first, 1));
  CHECK(entries(second) == Entries{"ann 2"});
  must(ledger->outbox().set(second[0].id, EffectState::written, 1, 0, ""));
  CHECK(entries(must(ledger->outbox().behind(first, 10))) == Entries{"ann 3", "ann 4"});
}

TEST_CASE("a deferred reply holds its own inbox, so that nothing overtakes it, and no other") {
  auto ledger = in_memory();
  for (const char* entry : {"ann 1", "ann 2"}) must(ledger->outbox().enqueue(outbox_row("ann", entry)));
  must(ledger->outbox().enqueue(outbox_row("bob", "bob 1")));
  const auto rows = must(ledger->outbox().due("red", 1000, 10));
  must(ledger->outbox().set(rows[0].id, EffectState::pending, 1, 2000, "inbox is locked"));
  CHECK(entries(must(ledger->outbox().due("red", 1999, 10))) == Entries{"bob 1"});
  CHECK(entries(must(ledger->outbox().due("red", 2000, 10))) == Entries{"ann 1", "bob 1"});
  CHECK(must(ledger->outbox().due("red", 2000, 10)).at(0).last_problem == "inbox is locked");
}

TEST_CASE("a clock that was put back delays no reply") {
  auto ledger = in_memory();
  must(ledger->outbox().enqueue(outbox_row("ann", "ann 1")));
  const auto rows = must(ledger->outbox().due("red", 1'000'000, 10));
  must(ledger->outbox().set(rows[0].id, EffectState::pending, 1, 1'000'000 + OutboxTable::retry_after_ms, "inbox is locked"));
  CHECK(must(ledger->outbox().due("red", 1'000'000, 10)).empty());
  CHECK(entries(must(ledger->outbox().due("red", 900'000, 10))) == Entries{"ann 1"});
}

TEST_CASE("owed counts what is pending, written lists what is not yet verified") {
  auto ledger = in_memory();
  for (const char* entry : {"1", "2", "3", "4"}) must(ledger->outbox().enqueue(outbox_row(entry, entry)));
  const auto rows = must(ledger->outbox().due("red", 1000, 10));
  must(ledger->outbox().set(rows[0].id, EffectState::written, 1, 0, ""));
  must(ledger->outbox().set(rows[1].id, EffectState::done, 1, 0, ""));
  must(ledger->outbox().set(rows[2].id, EffectState::dead, 9, 0, "gone"));
  CHECK(must(ledger->outbox().owed("red")) == 1);
  CHECK(entries(must(ledger->outbox().written("red"))) == Entries{"1"});
  CHECK(must(ledger->outbox().owed("blue")) == 0);
}

TEST_CASE("a row that does not exist cannot be set") {
  auto ledger = in_memory();
  CHECK(code_of(ledger->outbox().set(1, EffectState::done, 1, 0, "")) == "ledger.sql");
}

TEST_CASE("the same request again makes its reply owed again, the same bytes, from now") {
  for (const auto state : {EffectState::written, EffectState::done, EffectState::dead}) {
    auto ledger = in_memory();
    must(ledger->outbox().enqueue(outbox_row("ann", "reply", "r-1")));
    must(ledger->outbox().enqueue(outbox_row("ann", "other", "r-2")));
    const long long id = must(ledger->outbox().of_request("red", "r-1")).at(0).id;
    must(ledger->outbox().set(id, state, 7, 9000, "problem"));
    must(ledger->outbox().resend(must(ledger->outbox().of_request("red", "r-1")), 20000));
    const auto rows = must(ledger->outbox().of_request("red", "r-1"));
    REQUIRE(rows.size() == 1);
    CHECK((rows[0].state == EffectState::pending && rows[0].message.text == "reply" && rows[0].attempts == 0));
    CHECK((rows[0].created_ms == 20000 && rows[0].next_ms == 20000 && rows[0].last_problem.empty()));
    CHECK(must(ledger->outbox().of_request("red", "r-2")).at(0).created_ms == 1000);
  }
}

TEST_CASE("asking again does not cut short the backoff of a reply that is still owed") {
  auto ledger = in_memory();
  must(ledger->outbox().enqueue(outbox_row("ann", "reply", "r-1")));
  const long long id = must(ledger->outbox().due("red", 1000, 1)).at(0).id;
  must(ledger->outbox().set(id, EffectState::pending, 3, 2500, "locked"));
  must(ledger->outbox().resend(must(ledger->outbox().of_request("red", "r-1")), 2000));
  const auto row = must(ledger->outbox().of_request("red", "r-1")).at(0);
  CHECK((row.attempts == 3 && row.next_ms == 2500 && row.created_ms == 1000));
}

// what prune may take

namespace {

bool keep_none(const schema::MessageKey&) { return false; }
constexpr EpochMs long_after = 1'000'000;

/// One request with everything that belongs to it.
void record_request(Ledger& ledger, handlers::RequestState state, EffectState effect) {
  MessageRow message = message_row("message of r-1");
  message.request_id = "r-1";
  must(ledger.messages().insert(message));
  must(ledger.requests().put("red", request_row("r-1", state)));
  OutboxRow reply = outbox_row("ann", "reply", "r-1");
  reply.state = effect;
  must(ledger.outbox().enqueue(reply));
  must(ledger.history().add({1000, "red", named("message of r-1").value, "r-1", "message.accepted", ""}));
}

bool request_is_there(Ledger& ledger) {
  const bool message = must(ledger.messages().known(named("message of r-1")));
  CHECK(must(ledger.requests().find("red", {handlers::RequestKind::permission, "ann", "r-1"})).has_value() == message);
  CHECK(must(ledger.outbox().of_request("red", "r-1")).empty() != message);
  CHECK(must(ledger.history().of_message(named("message of r-1"))).empty() != message);
  return message;
}

}  // namespace

TEST_CASE("a finished request goes as a whole, once it is older than the cutoff") {
  auto ledger = in_memory();
  record_request(*ledger, handlers::RequestState::approved, EffectState::done);
  CHECK(must(ledger->prune("red", 1000, keep_none)) == 0);
  CHECK(request_is_there(*ledger));
  CHECK(must(ledger->prune("blue", long_after, keep_none)) == 0);
  CHECK(request_is_there(*ledger));
  CHECK(must(ledger->prune("red", 1001, keep_none)) == 1);
  CHECK_FALSE(request_is_there(*ledger));
}

TEST_CASE(
    "a request stays as a whole while its message is in an inbox: it can be asked again and must get the same bytes") {
  auto ledger = in_memory();
  record_request(*ledger, handlers::RequestState::denied, EffectState::done);
  const auto keep = [](const schema::MessageKey& key) { return key == named("message of r-1"); };
  CHECK(must(ledger->prune("red", long_after, keep)) == 0);
  CHECK(request_is_there(*ledger));
}

TEST_CASE("an open request stays, however old") {
  for (const auto state : {handlers::RequestState::received, handlers::RequestState::pending}) {
    auto ledger = in_memory();
    record_request(*ledger, state, EffectState::dead);
    CHECK(must(ledger->prune("red", long_after, keep_none)) == 0);
    CHECK(request_is_there(*ledger));
  }
}

TEST_CASE("a decided request stays as long as its reply is owed or not yet verified") {
  for (const auto effect : {EffectState::pending, EffectState::written}) {
    auto ledger = in_memory();
    record_request(*ledger, handlers::RequestState::approved, effect);
    CHECK(must(ledger->prune("red", long_after, keep_none)) == 0);
    CHECK(request_is_there(*ledger));
  }
}

TEST_CASE("chat that is not delivered stays, what the lead sent stays until it is done") {
  auto ledger = in_memory();
  must(ledger->messages().insert(chat_row("queued")));
  const long long offered = must(ledger->messages().insert(chat_row("offered")));
  const long long delivered = must(ledger->messages().insert(chat_row("delivered")));
  must(ledger->deliveries().mark_offered({offered, delivered}, "recv", 1));
  must(ledger->deliveries().mark_delivered({delivered}, 2));
  must(ledger->outbox().enqueue(outbox_row("ann", "sent, still owed")));
  OutboxRow sent = outbox_row("bob", "sent and done");
  sent.state = EffectState::done;
  must(ledger->outbox().enqueue(sent));
  CHECK(must(ledger->prune("red", long_after, keep_none)) == 1);
  CHECK(must(ledger->messages().known(named("queued"))));
  CHECK(must(ledger->messages().known(named("offered"))));
  CHECK_FALSE(must(ledger->messages().known(named("delivered"))));
  CHECK(entries(must(ledger->outbox().of_request("red", ""))) == Entries{"sent, still owed"});
}

TEST_CASE("an id is never given to another message after pruning") {
  auto ledger = in_memory();
  const long long first = must(ledger->messages().insert(message_row("1")));
  CHECK(must(ledger->prune("red", long_after, keep_none)) == 1);
  CHECK(must(ledger->messages().insert(message_row("2"))) > first);
}

TEST_CASE("prune may be part of a larger transaction, and goes with it") {
  auto ledger = in_memory();
  must(ledger->messages().insert(message_row("1")));
  const auto failed = ledger->transaction([&]() -> Status {
    CHECK(must(ledger->prune("red", long_after, keep_none)) == 1);
    return Error{"test", "changed its mind"};
  });
  CHECK(code_of(failed) == "test");
  CHECK(must(ledger->messages().known(named("1"))));
}

}  // namespace inbox_poller::poller::ledger_test::ledger_outbox_test

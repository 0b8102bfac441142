#include <string>
#include <vector>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_shutdowns_test {
namespace {

using handlers::Shutdown;
using handlers::ShutdownEvent;
using handlers::ShutdownState;

constexpr ShutdownState states[] = {ShutdownState::requested,    ShutdownState::approved,  ShutdownState::forced,
                                    ShutdownState::process_gone, ShutdownState::pane_gone, ShutdownState::cleaned,
                                    ShutdownState::rejected,     ShutdownState::timed_out};
constexpr ShutdownEvent events[] = {ShutdownEvent::worker_approves, ShutdownEvent::worker_rejects,
                                    ShutdownEvent::force_is_due,    ShutdownEvent::process_ends,
                                    ShutdownEvent::pane_closes,     ShutdownEvent::traces_removed,
                                    ShutdownEvent::time_passes};

bool leads_to(ShutdownState from, ShutdownState to) {
  for (const auto event : events)
    if (handlers::transition(from, event) == to) return true;
  return false;
}

/// Everything in it, as text.
std::string text_of(const Shutdown& row) {
  std::string text = row.request_id + '|' + row.member + '|' + row.agent_id + '|' + row.by + '|' + row.reason + '|' +
                     std::string(to_string(row.state));
  for (const auto ms : {row.requested_ms, row.remind_ms, row.reminded_ms, row.force_ms, row.timeout_ms, row.changed_ms,
                        row.term_ms, row.kill_ms})
    text += '|' + std::to_string(ms);
  text += '|' + row.place.backend + '|' + row.place.pane_id + '|' + row.place.left_alone;
  for (const auto& list :
       {std::vector{row.place.server}, std::vector{row.place.pane}, row.place.processes, row.survivors}) {
    text += '|';
    for (const auto& process : list) text += std::to_string(process.pid) + '@' + process.started + ' ';
  }
  return text + '|' + row.answer + '|' + row.tasks + '|' + row.detail;
}

std::vector<std::string> ids_of(const std::vector<Shutdown>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.request_id);
  return ids;
}

}  // namespace

TEST_CASE("a shutdown is read as it was written, in every column, whole or sparse") {
  auto ledger = in_memory();
  Shutdown sparse;
  sparse.request_id = "shutdown-2@bob";
  sparse.member = "bob";
  sparse.place.left_alone = "the roster names no pane";
  for (const auto& row : {shutdown_row("shutdown-1@ann", ShutdownState::requested), sparse}) {
    must(ledger->shutdowns().put("red", row));
    CHECK(text_of(must(ledger->shutdowns().find("red", row.request_id)).value()) == text_of(row));
  }
  CHECK_FALSE(must(ledger->shutdowns().find("blue", "shutdown-1@ann")).has_value());
  CHECK_FALSE(must(ledger->shutdowns().find("red", "shutdown-3@ann")).has_value());
}

TEST_CASE("a shutdown moves where the table of transitions leads, and nowhere else") {
  for (const auto from : states) {
    for (const auto to : states) {
      INFO(to_string(from) << " to " << to_string(to));
      auto ledger = in_memory();
      must(ledger->shutdowns().put("red", shutdown_row("s", from)));
      const bool allowed = from == to || leads_to(from, to);
      CHECK(code_of(ledger->shutdowns().put("red", shutdown_row("s", to))) == (allowed ? "ok" : "ledger.final"));
      CHECK(must(ledger->shutdowns().find("red", "s"))->state == (allowed ? to : from));
    }
  }
}

TEST_CASE("the same state brings what may change up to date") {
  auto ledger = in_memory();
  auto row = shutdown_row("s", ShutdownState::requested);
  must(ledger->shutdowns().put("red", row));
  row.reminded_ms = 7;
  row.changed_ms = 8;
  row.term_ms = 9;
  row.kill_ms = 10;
  row.survivors = {{400, "44"}, {401, "45"}};
  row.answer = "no";
  row.tasks = "2 \"Print\"";
  row.detail = "waits for process 400";
  must(ledger->shutdowns().put("red", row));
  CHECK(text_of(must(ledger->shutdowns().find("red", "s")).value()) == text_of(row));
}

TEST_CASE("what may be closed or signalled is what was recorded when we asked") {
  auto ledger = in_memory();
  const auto recorded = shutdown_row("s", ShutdownState::requested);
  must(ledger->shutdowns().put("red", recorded));
  std::vector<Shutdown> others(5, recorded);
  others[0].member = "bob";
  others[1].place.pane_id = "%8";
  others[2].place.processes.push_back({1, "1"});
  others[3].place.server.started = "12";
  others[4].requested_ms = 999;
  for (const auto& other : others) CHECK(code_of(ledger->shutdowns().put("red", other)) == "ledger.final");
  CHECK(text_of(must(ledger->shutdowns().find("red", "s")).value()) == text_of(recorded));
}

TEST_CASE("a process that could not be read again is not written") {
  auto ledger = in_memory();
  auto row = shutdown_row("s", ShutdownState::requested);
  row.place.processes = {{300, "Fri Nov 20"}};
  CHECK(code_of(ledger->shutdowns().put("red", row)) == "ledger.sql");
  CHECK_FALSE(must(ledger->shutdowns().find("red", "s")).has_value());
}

TEST_CASE("open shutdowns are those of handlers::is_open, oldest first - all of them, newest first") {
  auto ledger = in_memory();
  std::vector<std::string> open;
  std::vector<std::string> all;
  for (const auto state : states) {
    const std::string id(to_string(state));
    must(ledger->shutdowns().put("red", shutdown_row(id, state)));
    must(ledger->shutdowns().put("blue", shutdown_row("blue " + id, state)));
    if (handlers::is_open(state)) open.push_back(id);
    all.insert(all.begin(), id);
  }
  CHECK(ids_of(must(ledger->shutdowns().open("red"))) == open);
  CHECK(ids_of(must(ledger->shutdowns().latest("red", 100))) == all);
  CHECK(ids_of(must(ledger->shutdowns().latest("red", 1))) == std::vector<std::string>{all.front()});
}

TEST_CASE("a shutdown is found by its id alone, with its team") {
  auto ledger = in_memory();
  for (const char* team : {"red", "blue"})
    must(ledger->shutdowns().put(team, shutdown_row("s", ShutdownState::requested)));
  const auto found = must(ledger->shutdowns().by_id("s"));
  REQUIRE(found.size() == 2);
  CHECK((found[0].first == "red" && found[1].first == "blue" && found[1].second.member == "ann"));
  CHECK(must(ledger->shutdowns().by_id("t")).empty());
}

TEST_CASE("an order is given once to a member of this joining, of this kind and this origin") {
  auto ledger = in_memory();
  const auto first = must(ledger->orders().add(order_row("ann", "config plan")));
  REQUIRE(first.has_value());
  auto again = order_row("ann", "config plan");
  again.subject = "default";
  CHECK_FALSE(must(ledger->orders().add(again)).has_value());
  auto rejoined = order_row("ann", "config plan");
  rejoined.joined_ms = 501;
  auto rule = order_row("ann", "config plan");
  rule.kind = handlers::OrderKind::rule;
  for (const auto& other : {order_row("bob", "config plan"), order_row("ann", "command 4"), rejoined, rule})
    CHECK(must(ledger->orders().add(other)).has_value());
  must(ledger->orders().set(*first, handlers::OrderState::applied, 2000));

  const auto rows = must(ledger->orders().of_team("red"));
  REQUIRE(rows.size() == 5);
  CHECK((rows[0].id == *first && rows[0].subject == "plan" && rows[0].state == handlers::OrderState::applied && rows[0].state_ms == 2000 &&
         rows[0].sent_ms == 1000 && rows[0].by == "mona" && rows[0].key == named("key of config plan")));
  CHECK((rows[3].joined_ms == 501 && rows[4].kind == handlers::OrderKind::rule && rows[4].state == handlers::OrderState::sent));
  CHECK(must(ledger->orders().of_team("blue")).empty());
  CHECK(code_of(ledger->orders().set(99, handlers::OrderState::applied, 1)) == "ledger.sql");
}

TEST_CASE("an entry is ours from the moment it is owed, and stays so") {
  auto ledger = in_memory();
  CHECK_FALSE(must(ledger->outbox().wrote(named("key of yes"))));
  must(ledger->outbox().enqueue(outbox_row("ann", "yes")));
  CHECK(must(ledger->outbox().wrote(named("key of yes"))));
  must(ledger->outbox().set(1, EffectState::done, 1, 0, ""));
  CHECK(must(ledger->outbox().wrote(named("key of yes"))));
  must(ledger->outbox().enqueue(outbox_row("bob", "no")));
  CHECK(must(ledger->outbox().like("6b6579206f6620", 10)).size() == 2);
  CHECK(must(ledger->outbox().like("6b6579206f6620", 1)).size() == 1);
  CHECK(must(ledger->outbox().like("6b6579206f662079", 10)).at(0).inbox == "ann");
  CHECK(must(ledger->outbox().like("key_of", 10)).empty());
}

TEST_CASE("finished shutdowns go after their time, with what was sent and noted for them - open ones stay whole") {
  for (const auto state : states) {
    INFO(to_string(state));
    auto ledger = in_memory();
    must(ledger->shutdowns().put("red", shutdown_row("s", state)));
    must(ledger->outbox().enqueue(outbox_row("ann", "request", "s")));
    must(ledger->outbox().set(1, EffectState::done, 1, 0, ""));
    must(ledger->history().add({1000, "red", "", "s", "shutdown.requested", ""}));
    auto answer = message_row("approval");
    answer.request_id = "s";
    must(ledger->messages().insert(answer));
    const auto never = [](const schema::MessageKey&) { return false; };
    must(ledger->prune("red", 900, never));
    CHECK(must(ledger->shutdowns().find("red", "s")).has_value());
    must(ledger->prune("red", 5000, never));
    const bool open = handlers::is_open(state);
    CHECK(must(ledger->shutdowns().find("red", "s")).has_value() == open);
    CHECK(must(ledger->messages().known(named("approval"))) == open);
    CHECK(must(ledger->outbox().of_request("red", "s")).empty() == !open);
    CHECK(must(ledger->history().of_request("red", "s")).empty() == !open);
  }
}

TEST_CASE("a shutdown stays as long as a message that answers it may be seen again") {
  auto ledger = in_memory();
  must(ledger->shutdowns().put("red", shutdown_row("s", ShutdownState::cleaned)));
  auto answer = message_row("approval");
  answer.request_id = "s";
  must(ledger->messages().insert(answer));
  must(ledger->prune("red", 5000, [](const schema::MessageKey&) { return true; }));
  CHECK(must(ledger->shutdowns().find("red", "s")).has_value());
}

TEST_CASE("orders go after their time when their member has left, and never before") {
  auto ledger = in_memory();
  must(ledger->members().put({"red", "ann", true, {}, "", "", 1}));
  must(ledger->members().put({"red", "bob", false, {}, "", "", 1}));
  for (const char* member : {"ann", "bob"}) must(ledger->orders().add(order_row(member, "config plan")));
  const auto never = [](const schema::MessageKey&) { return false; };
  must(ledger->prune("red", 1000, never));
  CHECK(must(ledger->orders().of_team("red")).size() == 2);
  must(ledger->prune("red", 5000, never));
  const auto left = must(ledger->orders().of_team("red"));
  REQUIRE(left.size() == 1);
  CHECK(left[0].member == "ann");
}

}  // namespace inbox_poller::poller::ledger_test::ledger_shutdowns_test

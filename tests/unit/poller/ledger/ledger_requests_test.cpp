#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_requests_test {
namespace {

using handlers::RequestEvent;
using handlers::RequestKind;
using handlers::RequestState;

constexpr RequestState all_states[] = {
    RequestState::received, RequestState::pending,   RequestState::approved,          RequestState::denied,
    RequestState::expired,  RequestState::withdrawn, RequestState::answered_elsewhere};
constexpr RequestEvent all_events[] = {RequestEvent::rule_allows,   RequestEvent::rule_denies,
                                       RequestEvent::rule_asks,     RequestEvent::person_approves,
                                       RequestEvent::person_denies, RequestEvent::deadline_passes,
                                       RequestEvent::asker_leaves,  RequestEvent::answered_by_other};

}  // namespace

TEST_CASE("a request comes back as it was put, bytes and all") {
  auto ledger = in_memory();
  handlers::Request row = request_row("r-1", RequestState::pending);
  row.kind = RequestKind::plan;
  row.body = std::string("plan\0with \xff bytes", 18);
  row.description = std::string("says\0so", 7);
  row.suggestions = "[{\"type\":\"addRules\"}]";
  row.deadline_ms = 601000;
  row.decided_ms = 7;
  row.decided_by = "mona";
  row.rule = "Bash(ls:*)";
  row.reason = "because";
  must(ledger->requests().put("red", row));
  const auto back = must(ledger->requests().find("red", {RequestKind::plan, "ann", "r-1"})).value();
  CHECK((back.kind == row.kind && back.request_id == row.request_id && back.asker == row.asker));
  CHECK((back.content_hash == row.content_hash && back.subject == row.subject && back.body == row.body));
  CHECK((back.description == row.description && back.suggestions == row.suggestions && back.state == row.state));
  CHECK((back.asked_ms == row.asked_ms && back.deadline_ms == row.deadline_ms && back.decided_ms == row.decided_ms));
  CHECK((back.decided_by == row.decided_by && back.rule == row.rule && back.reason == row.reason));
  CHECK(back.message == row.message);
}

TEST_CASE("requests of the same id in another team or of another kind are other requests") {
  auto ledger = in_memory();
  must(ledger->requests().put("red", request_row("r-1", RequestState::approved)));
  handlers::Request sandbox = request_row("r-1", RequestState::pending);
  sandbox.kind = RequestKind::sandbox;
  must(ledger->requests().put("red", sandbox));
  must(ledger->requests().put("blue", request_row("r-1", RequestState::denied)));
  CHECK(must(ledger->requests().find("red", {RequestKind::permission, "ann", "r-1"}))->state == RequestState::approved);
  CHECK(must(ledger->requests().find("red", {RequestKind::sandbox, "ann", "r-1"}))->state == RequestState::pending);
  CHECK(must(ledger->requests().find("blue", {RequestKind::permission, "ann", "r-1"}))->state == RequestState::denied);
  CHECK_FALSE(must(ledger->requests().find("red", {RequestKind::plan, "ann", "r-1"})).has_value());

  const auto named = must(ledger->requests().by_id("r-1"));
  REQUIRE(named.size() == 3);
  CHECK((named[0].first == "red" && named[1].first == "red" && named[2].first == "blue"));
}

TEST_CASE("the ledger lets a request move exactly as the transition table does, for every pair of states") {
  for (const auto before : all_states) {
    for (const auto after : all_states) {
      bool possible = before == after && handlers::is_open(before);
      for (const auto event : all_events) possible = possible || handlers::transition(before, event) == after;
      auto ledger = in_memory();
      must(ledger->requests().put("red", request_row("r-1", before)));
      INFO(to_string(before) << " -> " << to_string(after));
      CHECK(code_of(ledger->requests().put("red", request_row("r-1", after))) == (possible ? "ok" : "ledger.final"));
      CHECK(must(ledger->requests().find("red", {RequestKind::permission, "ann", "r-1"}))->state == (possible ? after : before));
    }
  }
}

TEST_CASE("a request cannot change its content on its way to a decision, and an id is its worker's own") {
  auto ledger = in_memory();
  must(ledger->requests().put("red", request_row("r-1", RequestState::pending)));
  handlers::Request other_asker = request_row("r-1", RequestState::approved);
  other_asker.asker = "eve";
  handlers::Request other_content = request_row("r-1", RequestState::approved);
  other_content.content_hash = "another hash";
  CHECK(code_of(ledger->requests().put("red", other_asker)) == "ok");
  CHECK(must(ledger->requests().find("red", {RequestKind::permission, "eve", "r-1"}))->state == RequestState::approved);
  CHECK(must(ledger->requests().by_id("r-1")).size() == 2);
  CHECK(code_of(ledger->requests().put("red", other_content)) == "ledger.final");
  CHECK(must(ledger->requests().find("red", {RequestKind::permission, "ann", "r-1"}))->state == RequestState::pending);
}

TEST_CASE("the ledger's open requests are those that the handlers call open") {
  auto ledger = in_memory();
  std::size_t open = 0;
  for (const auto state : all_states) {
    must(ledger->requests().put("red", request_row(std::string(to_string(state)), state)));
    if (handlers::is_open(state)) ++open;
  }
  const auto rows = must(ledger->requests().open("red"));
  CHECK(rows.size() == open);
  for (const auto& row : rows) CHECK(handlers::is_open(row.state));
  CHECK(must(ledger->requests().open_count("red", "ann")) == open);
  CHECK(must(ledger->requests().open_count("red", "bob")) == 0);
  CHECK(must(ledger->requests().open_count("blue", "ann")) == 0);
}

TEST_CASE("open requests are listed in the order they came, also after they were written again") {
  auto ledger = in_memory();
  for (const char* id : {"z", "a", "m"}) must(ledger->requests().put("red", request_row(id, RequestState::pending)));
  must(ledger->requests().put("red", request_row("z", RequestState::pending)));
  const auto rows = must(ledger->requests().open("red"));
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].request_id == "z" && rows[1].request_id == "a" && rows[2].request_id == "m"));
}

TEST_CASE("submissions of the same plan are counted by asker and content, decided or not") {
  auto ledger = in_memory();
  for (const char* id : {"p1", "p2"}) {
    handlers::Request plan = request_row(id, RequestState::denied);
    plan.kind = RequestKind::plan;
    plan.content_hash = "same";
    must(ledger->requests().put("red", plan));
  }
  handlers::Request permission = request_row("x", RequestState::denied);
  permission.content_hash = "same";
  must(ledger->requests().put("red", permission));
  CHECK(must(ledger->requests().plan_count("red", "ann", "same")) == 2);
  CHECK(must(ledger->requests().plan_count("red", "ann", "other")) == 0);
  CHECK(must(ledger->requests().plan_count("red", "bob", "same")) == 0);
}

TEST_CASE("members, session rules and the lead's state are kept, the latest of each") {
  auto ledger = in_memory();
  must(ledger->members().put({"red", "bob", true, handlers::WorkerReport::idle, "", "", 5}));
  must(ledger->members().put({"red", "ann", true, {}, "", "", 1}));
  must(ledger->members().put({"red", "bob", false, handlers::WorkerReport::failed, "no disk", "3 \"Print\"", 9}));
  const auto members = must(ledger->members().of_team("red"));
  REQUIRE(members.size() == 2);
  CHECK(members[0].name == "ann");
  CHECK((!members[1].present && members[1].state == handlers::WorkerReport::failed && members[1].detail == "no disk" &&
         members[1].task == "3 \"Print\"" && members[1].last_seen_ms == 9));

  const auto first =
      must(ledger->rules().add({0, "red", "s", handlers::RuleKind::permission, "allow", "Bash(ls:*)", "mona", 5}));
  const auto second =
      must(ledger->rules().add({0, "red", "s", handlers::RuleKind::host, "deny", "*.example.org", "mona", 6}));
  CHECK(must(ledger->rules().add({0, "red", "s", handlers::RuleKind::permission, "allow", "Bash(ls:*)", "nina", 7})) ==
        first);
  const auto rules = must(ledger->rules().of_team("red"));
  REQUIRE(rules.size() == 2);
  CHECK((rules[0].rule == "Bash(ls:*)" && rules[0].by == "mona" && rules[1].kind == handlers::RuleKind::host &&
         rules[1].action == "deny"));
  CHECK((rules[0].id == first && rules[1].id == second));
  CHECK(must(ledger->rules().of_team("blue")).empty());
  CHECK(code_of(ledger->rules().add({0, "red", "s", handlers::RuleKind::permission, "perhaps", "Bash", "mona", 8})) ==
        "ledger.sql");
  must(ledger->rules().remove(second));
  const auto team =
      must(ledger->rules().add({0, "red", "s", handlers::RuleKind::team, "allow", "Edit(//repo/**)", "mona", 9}));
  CHECK(team > second);  // orders name the id of the rule that caused them: none is used twice
  const auto left = must(ledger->rules().of_team("red"));
  REQUIRE(left.size() == 2);
  CHECK((left[0].id == first && left[1].id == team && left[1].kind == handlers::RuleKind::team));

  CHECK_FALSE(must(ledger->leads().find("red")).has_value());
  must(ledger->leads().put("red", {handlers::LeadState::idle, 1, 0}));
  must(ledger->leads().put("red", {handlers::LeadState::busy, 2, 30}));
  const auto lead = must(ledger->leads().find("red")).value();
  CHECK((lead.state == handlers::LeadState::busy && lead.since_ms == 2 && lead.until_ms == 30));
}

}  // namespace inbox_poller::poller::ledger_test::ledger_requests_test

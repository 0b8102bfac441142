// What a hook of the lead's session tells, and what it is answered: cell by cell, then what takes something away.
#include "handlers/hook_policy.hpp"

#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::hook_policy_test {

using namespace inbox_poller::handlers;
namespace schema = inbox_poller::schema;
using schema::ClientMode;
using schema::HookEvent;

namespace {

/// An idle lead whose client says all that it can. `-`: nothing.
constexpr const char* drawn = R"(
event             told              offers  busy_too  backlog  lets_go  handed_over     nothing_left
SessionStart      session_starts    -       no        yes      no       -               -
UserPromptSubmit  prompt_submitted  prompt  yes       no       yes      -               -
PreToolUse        tool_used         -       no        no       no       -               -
PostToolUse       tool_used         tool    no        no       no       -               -
Stop              tool_used         stop    yes       no       no       turn_continues  turn_stops
StopFailure       turn_fails        -       no        no       yes      -               -
SessionEnd        session_ends      -       no        no       yes      -               -
Notification      -                 -       no        no       no       -               -
SubagentStop      -                 -       no        no       no       -               -
)";

HookFacts facts(LeadState lead = LeadState::idle, int held = 0) {
  return {lead, held, ClientMode::interactive, true, true};
}

HookEvent event(const std::string& name) {
  HookEvent event;
  event.name = name;
  event.session_id = "s1";
  return event;
}

template <class Value>
std::string cell(const std::optional<Value>& value) {
  return value ? std::string(to_string(*value)) : "-";
}
std::string cell(bool value) { return value ? "yes" : "no"; }

}  // namespace

TEST_CASE("every cell of what a hook's event tells and is answered is as drawn") {
  std::istringstream table(drawn);
  std::string line;
  std::getline(table, line);
  std::getline(table, line);  // the head
  int rows = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string name, told, offers, busy_too, backlog, lets_go, handed_over, nothing_left;
    REQUIRE(cells >> name >> told >> offers >> busy_too >> backlog >> lets_go >> handed_over >> nothing_left);
    INFO(name);
    const auto plan = plan_of(event(name), facts());
    CHECK(cell(plan.told) == told);
    CHECK(cell(plan.offers) == offers);
    CHECK(cell(plan.ignore_busy) == busy_too);
    CHECK(cell(plan.backlog) == backlog);
    CHECK(cell(plan.lets_go) == lets_go);
    CHECK(cell(plan.handed_over) == handed_over);
    CHECK(cell(plan.nothing_left) == nothing_left);
    CHECK(plan.confirms_prompt == (name == "UserPromptSubmit"));
    ++rows;
  }
  CHECK(rows == 9);
}

TEST_CASE("a session that goes on after a compaction is as busy as before") {
  auto compacted = event("SessionStart");
  compacted.source = "compact";
  CHECK(plan_of(compacted, facts(LeadState::busy)).told == LeadEvent::tool_used);
  CHECK(plan_of(compacted, facts()).told == LeadEvent::session_starts);
  CHECK(plan_of(event("SessionStart"), facts(LeadState::busy)).told == LeadEvent::session_starts);
}

TEST_CASE("a session is told how much waits only where no other way has the messages") {
  auto beside = facts();
  beside.hook_is_first = false;
  CHECK_FALSE(plan_of(event("SessionStart"), beside).backlog);
}

TEST_CASE("the end of a turn is answered with messages at most six times in a row") {
  for (int held = 0; held < 6; ++held) CHECK(plan_of(event("Stop"), facts(LeadState::busy, held)).offers == OfferingHook::stop);
  const auto seventh = plan_of(event("Stop"), facts(LeadState::busy, 6));
  CHECK_FALSE(seventh.offers);
  CHECK(seventh.nothing_left == LeadEvent::turn_stops);
}

TEST_CASE("a turn that somebody else held is let go") {
  auto others = event("Stop");
  others.stop_hook_active = true;
  const auto plan = plan_of(others, facts());
  CHECK_FALSE(plan.offers);
  CHECK_FALSE(plan.told);
  CHECK(plan.nothing_left == LeadEvent::turn_stops);
  CHECK(plan_of(others, facts(LeadState::busy, 1)).offers == OfferingHook::stop);
}

TEST_CASE("the end of a turn shows that it ran until now, whatever was presumed") {
  CHECK(plan_of(event("Stop"), facts(LeadState::offline)).told == LeadEvent::tool_used);
  CHECK_FALSE(plan_of(event("Stop"), facts(LeadState::busy)).told);
}

TEST_CASE("a turn that ends with a fault of the client gets no messages") {
  auto failed = event("Stop");
  failed.last_assistant_message = "API Error: 529";
  const auto plan = plan_of(failed, facts(LeadState::busy, 2));
  CHECK(plan.told == LeadEvent::turn_fails);
  CHECK_FALSE(plan.offers);
  CHECK(plan.lets_go);
}

TEST_CASE("between two tools messages go only where a subagent's tool is told apart") {
  auto old = facts();
  old.names_subagents = false;
  CHECK_FALSE(plan_of(event("PostToolUse"), old).offers);
  CHECK(plan_of(event("Stop"), old).offers == OfferingHook::stop);
}

TEST_CASE("a busy lead whose client waits for a prompt was interrupted") {
  auto idle = event("Notification");
  idle.notification_type = "idle_prompt";
  CHECK(plan_of(idle, facts(LeadState::busy)).told == LeadEvent::prompt_waits);
  CHECK_FALSE(plan_of(idle, facts()).told);
  idle.notification_type = "permission_prompt";
  CHECK_FALSE(plan_of(idle, facts(LeadState::busy)).told);
}

TEST_CASE("a message too long for a hook is pointed at three times, and with each prompt of a person") {
  CHECK(is_pointed_at(event("Stop"), 3));
  CHECK_FALSE(is_pointed_at(event("Stop"), 4));
  CHECK(is_pointed_at(event("UserPromptSubmit"), 40));
}

TEST_CASE("what is told of somebody who is no worker of the team is told of nobody") {
  auto idle = event("TeammateIdle");
  idle.teammate_name = "eve";
  CHECK(tells_of_worker(idle));
  CHECK(tells_of_worker(event("TaskCompleted")));
  CHECK_FALSE(tells_of_worker(event("Stop")));
  CHECK(why_no_worker_of(idle, "demo", true, false).empty());
  CHECK(why_no_worker_of(idle, "demo", false, false) == "\"eve\" is not a worker of team demo");
  CHECK_FALSE(why_no_worker_of(idle, "demo", true, true).empty());
}

TEST_CASE("a hook that waits gives way to one of the session with which the lead goes on") {
  CHECK_FALSE(gives_way("old", "old", event("SessionStart"), "old"));  // another hook of the same event
  CHECK(gives_way("old", "new", event("SessionStart"), "old"));
  CHECK(gives_way("old", "new", event("Stop"), "new"));
  CHECK_FALSE(gives_way("old", "late", event("Stop"), "old"));
}

TEST_CASE("the line of a backlog names who wrote, and the command that prints it") {
  CHECK(backlog_line("demo", 1, {"ada"}) ==
        "1 message for the lead of team demo waiting in inbox-poller, from ada. This prints them: "
        "inbox-poller recv --ignore-busy --team demo");
  CHECK(backlog_line("my team", 2, {}) ==
        "2 messages for the lead of team my team waiting in inbox-poller. This prints them: "
        "inbox-poller recv --ignore-busy --team 'my team'");
  std::set<std::string> many;
  for (int i = 100; i < 300; ++i) many.insert("worker-" + std::to_string(i));
  CHECK(backlog_line("demo", 200, many).size() < 700);
}

}  // namespace inbox_poller::hook_policy_test

// What differs when a real lead consumes the inbox beside us.
#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::roles_test {

using namespace testing;

namespace {

const std::string list_files = permission_request("Bash", R"({"command":"ls"})");

Team team_as(config::Role role) {
  Team team;
  team.membership.role = effective_role(role);
  return team;
}

RequestView too_many(const Team& team) {
  RequestView known;
  known.pending_of_asker = team.config.limits.pending_per_worker;
  return known;
}

}  // namespace

TEST_CASE("an interceptor answers what the rules decide, with the very bytes of a leader") {
  Team front = team_as(config::Role::interceptor);
  Team leader;
  for (Team* team : {&front, &leader}) {
    team->config.permissions.rules.allow = {rule("Bash(ls)")};
    team->config.sandbox.hosts.deny = {host("a.example")};
  }
  for (const std::string& text : {list_files, sandbox_request("a.example")}) {
    const auto by_front = expect<Asked>(receive(front, "w1", text));
    const auto by_leader = expect<Asked>(receive(leader, "w1", text));
    CHECK(by_front.request.decided_by == "rule");
    REQUIRE(by_front.posts.size() == 1);
    CHECK(by_front.posts.front().message == by_leader.posts.front().message);
  }
}

TEST_CASE("an interceptor leaves what is open to the lead: no deadline, and no denial for asking too much") {
  const Team team = team_as(config::Role::interceptor);
  const auto asked = expect<Asked>(receive(team, "w1", list_files, too_many(team)));
  CHECK(asked.request.state == RequestState::pending);
  CHECK(asked.request.deadline_ms == 0);
  CHECK(asked.request.decided_by.empty());
  CHECK(asked.posts.empty());
}

TEST_CASE("an observer answers nothing and notes what the rules would have said") {
  Team team = team_as(config::Role::observer);
  const auto observed = [&] {
    const auto asked = expect<Asked>(receive(team, "w1", list_files, too_many(team)));
    CHECK(asked.request.state == RequestState::pending);
    CHECK(asked.request.deadline_ms == 0);
    CHECK(asked.request.decided_by.empty());
    CHECK(asked.request.decided_ms == 0);
    CHECK(asked.posts.empty());
    return asked.request;
  };
  CHECK(observed().reason.rfind("the rules say ask: ", 0) == 0);
  team.config.permissions.rules.allow = {rule("Bash(ls)")};
  CHECK(observed().rule == "Bash(ls)");
  CHECK(observed().reason.rfind("the rules say allow: ", 0) == 0);
  team.config.permissions.rules.deny = {rule("Bash(ls *)")};
  CHECK(observed().rule == "Bash(ls *)");
  CHECK(observed().reason.rfind("the rules say deny: ", 0) == 0);
}

TEST_CASE("an observer takes in what others did, and nobody's answer") {
  const Team team = team_as(config::Role::observer);
  const Request request = pending(team, list_files);
  Answer answer;
  for (const RequestEvent event :
       {RequestEvent::person_approves, RequestEvent::person_denies, RequestEvent::deadline_passes}) {
    answer.event = event;
    const auto outcome = decide(request, answer, team.view(), noon + 1);
    REQUIRE(std::holds_alternative<NotTaken>(outcome));
    CHECK(std::get<NotTaken>(outcome).code == "role.not_leader");
    CHECK(std::get<NotTaken>(outcome).reason ==
          "permission request perm-1-aaaaaaa of w1 is for the lead of falcon to answer: here the role is observer; "
          "change team.role and run `inbox-poller reload`");
  }
  for (const RequestEvent event : {RequestEvent::asker_leaves, RequestEvent::answered_by_other}) {
    answer.event = event;
    const auto outcome = decide(request, answer, team.view(), noon + 1);
    REQUIRE(std::holds_alternative<Decided>(outcome));
    CHECK(std::get<Decided>(outcome).posts.empty());
  }
}

TEST_CASE("what has no deadline is not denied by one - a person beside a real lead may still answer it") {
  const Team team = team_as(config::Role::interceptor);
  const Request request = pending(team, list_files);
  Answer answer;
  answer.event = RequestEvent::deadline_passes;
  const auto outcome = decide(request, answer, team.view(), noon + 1);
  REQUIRE(std::holds_alternative<NotTaken>(outcome));
  CHECK(std::get<NotTaken>(outcome).code == "request.not_applicable");
  answer.event = RequestEvent::person_approves;
  const auto approved = decide(request, answer, team.view(), noon + 1);
  REQUIRE(std::holds_alternative<Decided>(approved));
  CHECK(std::get<Decided>(approved).posts.size() == 1);
}

}  // namespace inbox_poller::handlers::roles_test

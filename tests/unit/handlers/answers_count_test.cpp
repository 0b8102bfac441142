// Whose answers a worker takes, and what is not written because of it.
#include "handlers/answers_count.hpp"

#include "tests/support/contains.hpp"
#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::answers_count_test {

using namespace testing;
using inbox_poller::test::Contains;

namespace {

const AnswerAuthority refused = authority_of(WorkerProcess::with_key, true);
const std::string list_files = permission_request("Bash", R"({"command":"ls"})");

RequestView known_as(const AnswerAuthority& authority) {
  RequestView known;
  known.authority = authority;
  return known;
}

}  // namespace

TEST_CASE("a key is proof, a process without one is proof, and what is not seen goes by the lead") {
  struct Row {
    WorkerProcess process;
    bool lead_signs;
    Answers expected;
  };
  for (const Row& row :
       {Row{WorkerProcess::with_key, true, Answers::verified}, Row{WorkerProcess::with_key, false, Answers::verified},
        Row{WorkerProcess::without_key, true, Answers::count}, Row{WorkerProcess::without_key, false, Answers::count},
        Row{WorkerProcess::unseen, true, Answers::presumed_verified},
        Row{WorkerProcess::unseen, false, Answers::count}}) {
    const auto authority = authority_of(row.process, row.lead_signs);
    CHECK(authority.answers == row.expected);
    CHECK(authority.counts() == (row.expected == Answers::count));
    CHECK_FALSE(authority.reason.empty());
  }
  CHECK(to_string(Answers::count) == "count");
  CHECK(to_string(Answers::verified) == "verified");
  CHECK(to_string(Answers::presumed_verified) == "presumed verified");
  CHECK_THAT(verifies("w1", refused), Contains("w1 takes answers from its own lead only: its process"));
}

TEST_CASE("every answer is verified but what is plain chat or no answer at all") {
  using K = RequestKind;
  using E = RequestEvent;
  for (const E event : {E::rule_asks, E::asker_leaves, E::answered_by_other})
    for (const K kind : {K::permission, K::sandbox, K::plan, K::stop}) CHECK_FALSE(is_verified(kind, event));
  for (const E event : {E::rule_allows, E::rule_denies, E::person_approves, E::person_denies, E::deadline_passes})
    for (const K kind : {K::permission, K::sandbox, K::plan}) CHECK(is_verified(kind, event));
  CHECK(is_verified(K::stop, E::person_approves));
  CHECK(is_verified(K::stop, E::rule_allows));
  for (const E event : {E::rule_denies, E::person_denies, E::deadline_passes}) CHECK_FALSE(is_verified(K::stop, event));
}

TEST_CASE("a request whose asker would refuse our answer is decided by no rule, no limit and no deadline") {
  for (const config::Role role : {config::Role::leader, config::Role::interceptor}) {
    Team team;
    team.membership.role = effective_role(role);
    team.config.permissions.rules.allow = {rule("Bash(ls)")};
    team.config.sandbox.hosts.deny = {host("a.example")};
    team.config.plans.decision = config::Action::allow;
    auto known = known_as(refused);
    known.pending_of_asker = team.config.limits.pending_per_worker - 1;
    for (const std::string& text : {list_files, sandbox_request("a.example"), plan_request("# Plan")}) {
      const auto asked = expect<Asked>(receive(team, "w1", text, known));
      CHECK(asked.request.state == RequestState::pending);
      CHECK(asked.request.deadline_ms == 0);
      CHECK(asked.request.decided_by.empty());
      CHECK(asked.posts.empty());
      CHECK_THAT(asked.request.reason, Contains("the rules say "));
      CHECK_THAT(asked.request.reason, Contains("w1 takes answers from its own lead only"));
    }
    CHECK(expect<Asked>(receive(team, "w1", list_files)).request.state == RequestState::approved);
  }
}

TEST_CASE("of the requests that wait for the worker's own lead there are no more than of others") {
  for (const config::Role role : {config::Role::leader, config::Role::interceptor}) {
    Team team;
    team.membership.role = effective_role(role);
    auto known = known_as(refused);
    known.pending_of_asker = team.config.limits.pending_per_worker;
    const auto turned_away = expect<Refused>(receive(team, "w1", list_files, known));
    CHECK(turned_away.code == "limit.requests");
    CHECK_THAT(turned_away.reason, Contains("limits.pending_per_worker"));
  }
}

TEST_CASE("nobody's answer is written to a worker that would refuse it, and each is told what to do instead") {
  const Team team;
  Answer answer;
  answer.by = "alice";
  for (const std::string& text : {list_files, sandbox_request("a.example"), plan_request("# Plan")}) {
    const Request request = pending(team, text);
    for (const RequestEvent event :
         {RequestEvent::person_approves, RequestEvent::person_denies, RequestEvent::deadline_passes}) {
      answer.event = event;
      const auto outcome = decide(request, answer, team.view(), noon + 1, refused);
      REQUIRE(std::holds_alternative<NotTaken>(outcome));
      CHECK(std::get<NotTaken>(outcome).code == "worker.verifies_lead");
      CHECK_THAT(std::get<NotTaken>(outcome).reason, Contains("shutdown w1 --force"));
      CHECK(std::holds_alternative<Decided>(decide(request, answer, team.view(), noon + 1)));
    }
    for (const RequestEvent event : {RequestEvent::asker_leaves, RequestEvent::answered_by_other}) {
      answer.event = event;
      CHECK(std::holds_alternative<Decided>(decide(request, answer, team.view(), noon + 1, refused)));
    }
  }
}

TEST_CASE("its wish to stop is not granted, because no request to shut down would be obeyed; it may be declined") {
  const Team team;
  const auto asked = expect<Asked>(receive(
      team, "w1",
      R"({"type":"shutdown_request","requestId":"shutdown-1@team-lead","from":"w1","reason":"done","timestamp":"t"})",
      known_as(refused)));
  CHECK(asked.request.deadline_ms != 0);
  Answer answer;
  answer.event = RequestEvent::person_approves;
  CHECK(std::holds_alternative<NotTaken>(decide(asked.request, answer, team.view(), noon + 1, refused)));
  answer.event = RequestEvent::person_denies;
  CHECK(std::holds_alternative<Decided>(decide(asked.request, answer, team.view(), noon + 1, refused)));
}

}  // namespace inbox_poller::handlers::answers_count_test

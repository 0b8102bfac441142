#include "handlers/plan_approval.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::plan_approval_test {

using namespace testing;

namespace {

Team approving() {
  Team team;
  team.config.plans.decision = config::Action::allow;
  return team;
}

std::string approval(std::string_view mode) {
  return R"({"type":"plan_approval_response","requestId":"plan_approval-1@w1@falcon","approved":true,)"
         R"("timestamp":"2026-09-21T14:13:20.000Z","permissionMode":")" +
         std::string(mode) + R"("})";
}

}  // namespace

TEST_CASE("a plan waits for a person unless the configuration approves plans") {
  Team team;
  team.config.plans.timeout = std::chrono::minutes(30);
  const auto asked = expect<Asked>(receive(team, "w1", plan_request("# Plan")));
  CHECK(asked.request.state == RequestState::pending);
  CHECK(asked.request.deadline_ms == noon + 1'800'000);
  CHECK(asked.request.subject == "/home/u/.claude/plans/p.md");
  CHECK(asked.request.body == "# Plan");
  CHECK(asked.posts.empty());
}

TEST_CASE("an approved plan grants the standard mode, even below a wider ceiling") {
  Team team = approving();
  CHECK(only_text(expect<Asked>(receive(team, "w1", plan_request("# Plan"))).posts) == approval("default"));
  team.config.plans.ceiling = config::PermissionMode::bypass;
  const auto asked = expect<Asked>(receive(team, "w1", plan_request("# Plan")));
  CHECK(only_text(asked.posts) == approval("default"));
  CHECK(asked.request.decided_by == "rule");
  CHECK(asked.request.rule == "plans.decision");
}

TEST_CASE("a ceiling below the standard mode holds") {
  Team team = approving();
  team.config.plans.ceiling = config::PermissionMode::plan;
  CHECK(only_text(expect<Asked>(receive(team, "w1", plan_request("# Plan"))).posts) == approval("plan"));
}

TEST_CASE("an empty plan is put before a person") {
  for (const char* plan : {"", " ", R"(\n\t )"}) {
    const auto asked = expect<Asked>(receive(approving(), "w1", plan_request(plan)));
    CHECK(asked.request.state == RequestState::pending);
    CHECK(asked.request.reason == "the plan is empty");
  }
}

TEST_CASE("a plan that comes again and again is put before a person, whatever is configured") {
  Team team = approving();
  team.config.plans.max_resubmissions = 3;
  RequestView known;
  known.same_plan_count = 2;
  CHECK(expect<Asked>(receive(team, "w1", plan_request("# Plan"), known)).request.state == RequestState::approved);
  known.same_plan_count = 3;
  const auto asked = expect<Asked>(receive(team, "w1", plan_request("# Plan"), known));
  CHECK(asked.request.state == RequestState::pending);
  CHECK(asked.request.rule == "plans.max_resubmissions");
  CHECK(asked.request.reason == "this plan was submitted 3 times before; a person decides");
  CHECK(asked.posts.empty());
}

TEST_CASE("a decision is bound to the plan's text, not to its file, its time or its id") {
  const auto hash = [](const std::string& text) { return request_of(schema::decode_payload(text))->content_hash; };
  CHECK(hash(plan_request("# Plan")) == hash(plan_request("# Plan", "plan_approval-2@w1@falcon")));
  CHECK(hash(plan_request("# Plan")) != hash(plan_request("# Plan ")));
  CHECK(hash(plan_request("# Plan")) == schema::content_hash("# Plan"));
}

TEST_CASE("a plan in the old spelling is answered like any other") {
  const auto asked = expect<Asked>(receive(
      approving(), "w1",
      R"({"type":"plan_approval_request","from":"w1@falcon","plan":"# Plan","request_id":"plan_approval-1@w1@falcon"})"));
  CHECK(only_text(asked.posts) == approval("default"));
}

TEST_CASE("too many open plans are turned back with feedback") {
  Team team;
  RequestView known;
  known.pending_of_asker = team.config.limits.pending_per_worker;
  const auto asked = expect<Asked>(receive(team, "w1", plan_request("# Plan"), known));
  CHECK(asked.request.decided_by == "limit");
  CHECK(
      only_text(asked.posts) ==
      R"({"type":"plan_approval_response","requestId":"plan_approval-1@w1@falcon","approved":false,"feedback":"Denied )"
      R"(because 64 of your requests already wait for an answer. Wait for those before you ask for more.",)"
      R"("timestamp":"2026-09-21T14:13:20.000Z"})");
}

TEST_CASE("a reminder is due a minute after an approval that came in one breath with the plan, and for nothing else") {
  Request plan;
  plan.kind = RequestKind::plan;
  plan.request_id = "plan-1";
  plan.asker = "w1";
  plan.state = RequestState::approved;
  plan.asked_ms = noon;
  plan.decided_ms = noon + 4'999;
  CHECK(plan_reminder_due(plan) == noon + 64'999);
  Team team;
  const auto reminder = plan_reminder(plan, team.view());
  CHECK(reminder.inbox == "w1");
  CHECK(reminder.message == plan_reminder(plan, team.view()).message);
  CHECK(reminder.message.text.find("Reminder: your plan (request plan-1) was approved") != std::string::npos);
  auto other = plan;
  other.decided_ms = noon + 5'000;
  CHECK(plan_reminder_due(other) == 0);
  other = plan;
  other.state = RequestState::denied;
  CHECK(plan_reminder_due(other) == 0);
  other = plan;
  other.kind = RequestKind::permission;
  CHECK(plan_reminder_due(other) == 0);
}

TEST_CASE("any word of a worker shows that it goes on, but the end of the turn in which it asked does not") {
  Request plan;
  plan.decided_ms = noon;
  CHECK_FALSE(shows_going_on(plan, "text", noon - 1));
  CHECK(shows_going_on(plan, "text", noon));
  CHECK_FALSE(shows_going_on(plan, "idle_notification", noon + 4'999));
  CHECK(shows_going_on(plan, "idle_notification", noon + 5'000));
}

TEST_CASE("a worker that has its approval and said nothing since is silent, until it was reminded") {
  Request plan;
  plan.decided_ms = noon;
  const SincePlan silent{.has_answer = true, .state = WorkerReport::idle, .last_seen_ms = noon + 1};
  CHECK(is_silent_since(plan, silent));
  auto since = silent;
  since.has_answer = false;
  CHECK_FALSE(is_silent_since(plan, since));
  since = silent;
  since.was_reminded = true;
  CHECK_FALSE(is_silent_since(plan, since));
  since = silent;
  since.shows_going_on = true;
  CHECK_FALSE(is_silent_since(plan, since));
  since = silent;
  since.state = WorkerReport::assigned;
  CHECK_FALSE(is_silent_since(plan, since));
  since.last_seen_ms = noon;  // heard before the approval
  CHECK(is_silent_since(plan, since));
}

}  // namespace inbox_poller::handlers::plan_approval_test

// What becomes of a message beyond its handler's word: whose it is, whether there is room, and what may be marked.
#include "handlers/receive.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::receive_test {

using namespace testing;
using What = Reception::What;

namespace {

constexpr EffectiveRole beside[] = {EffectiveRole::interceptor, EffectiveRole::observer, EffectiveRole::paused};

Membership as(EffectiveRole role) { return {role, {}}; }

Reception chat(const Team& team, const Arrival& arrival) { return receive(ToLead{}, arrival, team.view()); }

WorkerStatus report(bool to_lead, bool in_digest = false, bool went_wrong = false) {
  WorkerStatus status{WorkerReport::idle, "", to_lead, "", went_wrong, in_digest};
  return status;
}

const AnswerAuthority refused{Answers::verified, "its process has a key"};

}  // namespace

TEST_CASE("whoever leads alone takes chat and reports, and nobody else does") {
  Team team;
  CHECK(chat(team, {"w1"}).what == What::accepted);
  CHECK(receive(report(true), {"w1"}, team.view()).what == What::accepted);
  for (const auto role : beside) {
    team.membership.role = role;
    CHECK(chat(team, {"w1"}).what == What::left);
    CHECK(chat(team, {"w1"}).lane == Lane::none);
    CHECK(receive(report(true), {"w1"}, team.view()).what == What::left);
  }
  team.membership.role = EffectiveRole::interceptor;
  CHECK(chat(team, {"w1"}).reason == "left to the lead, which consumes this inbox itself (role interceptor)");
}

TEST_CASE("what is refused is set aside by who leads alone, and left by everybody else") {
  const Refused refused{"sender.stranger", "nobody knows him"};
  CHECK(receive(refused, as(EffectiveRole::leader)).what == What::accepted);
  CHECK(receive(refused, as(EffectiveRole::leader)).reason == "nobody knows him");
  for (const auto role : beside) CHECK(receive(refused, as(role)).what == What::left);
}

TEST_CASE("no rule decides what the lead has answered, or, beside it, what it has read before us") {
  CHECK(why_leads(false, true, as(EffectiveRole::leader)).empty());
  for (const auto role : beside) CHECK(why_leads(false, false, as(role)).empty());
  for (const auto role : beside) CHECK_FALSE(why_leads(false, true, as(role)).empty());
  for (const auto role : {EffectiveRole::leader, EffectiveRole::interceptor, EffectiveRole::observer})
    CHECK(why_leads(true, false, as(role)) == "the lead had answered it before we read it");
}

TEST_CASE("what was read before we saw it goes nowhere") {
  const Team team;
  CHECK(chat(team, {"w1", true}).what == What::already_read);
  CHECK(chat(team, {"w1", true}).lane == Lane::none);
  CHECK(receive(report(true, false, true), {"w1", true}, team.view()).lane == Lane::none);
  CHECK(receive(report(false, true), {"w1", true}, team.view()).lane == Lane::none);
}

TEST_CASE("chat overtakes where its sender is urgent, a report where something went wrong") {
  Team team;
  CHECK(chat(team, {"w1"}).lane == Lane::chat);
  team.config.delivery.urgent = {"w1"};
  CHECK(chat(team, {"w1"}).lane == Lane::urgent);
  CHECK(chat(team, {"w2"}).lane == Lane::chat);
  CHECK(receive(report(true), {"w1"}, team.view()).lane == Lane::chat);
  CHECK(receive(report(true, false, true), {"w1"}, team.view()).lane == Lane::urgent);
  CHECK(receive(report(false), {"w1"}, team.view()).lane == Lane::none);
  CHECK(receive(report(false, true), {"w1"}, team.view()).lane == Lane::digest);
}

TEST_CASE("each sender has an equal share of the queue: two workers and one welcome sender, a third each") {
  Team team;
  team.config.limits.queued_chat = 9;
  CHECK(chat(team, {"w1", false, 8, 2}).what == What::accepted);
  const auto kept_out = chat(team, {"w1", false, 3, 3});
  CHECK(kept_out.what == What::stays);
  CHECK(kept_out.reason == "w1 has its share of limits.queued_chat (3) in the queue");
  CHECK(chat(team, {"w2", false, 3, 0}).what == What::accepted);
  CHECK(chat(team, {"w2", false, 9, 0}).reason == "limits.queued_chat is reached");
}

TEST_CASE("however small the queue is, a sender has room for one message in it") {
  Team team;
  team.config.limits.queued_chat = 1;
  CHECK(chat(team, {"w1"}).what == What::accepted);
  CHECK(chat(team, {"w1", false, 1, 0}).what == What::stays);
}

TEST_CASE("a report never stays out: where the queue is full it is recorded and goes no further") {
  Team team;
  team.config.limits.queued_chat = 1;
  const auto taken = receive(report(true), {"w1", false, 1, 1}, team.view());
  CHECK(taken.what == What::accepted);
  CHECK(taken.lane == Lane::none);
}

TEST_CASE("a request that comes again is answered again by the one who answered it") {
  CHECK(repeated(as(EffectiveRole::leader), false, {}) == Repeat::answered);
  CHECK(repeated(as(EffectiveRole::leader), false, refused) == Repeat::told);
  CHECK(repeated(as(EffectiveRole::interceptor), true, {}) == Repeat::answered);
  CHECK(repeated(as(EffectiveRole::interceptor), false, {}) == Repeat::left);
  CHECK(repeated(as(EffectiveRole::interceptor), true, refused) == Repeat::left);
  CHECK(repeated(as(EffectiveRole::observer), true, {}) == Repeat::left);
}

TEST_CASE("what a turn's end makes moot: calls of its own worker that are not ours to answer, and no plan") {
  const auto status = report(false);
  Request open;
  open.asker = "w1";
  CHECK(is_moot(open, status, "w1", as(EffectiveRole::leader)));
  CHECK_FALSE(is_moot(open, status, "w2", as(EffectiveRole::leader)));
  auto assigned = status;
  assigned.state = WorkerReport::assigned;
  CHECK_FALSE(is_moot(open, assigned, "w1", as(EffectiveRole::leader)));
  open.deadline_ms = 1;
  CHECK_FALSE(is_moot(open, status, "w1", as(EffectiveRole::leader)));
  CHECK(is_moot(open, status, "w1", as(EffectiveRole::interceptor)));
  open.kind = RequestKind::plan;
  CHECK_FALSE(is_moot(open, status, "w1", as(EffectiveRole::interceptor)));
}

TEST_CASE("what was left to another lead and not read is taken over by a leader, once") {
  const Met left{true, true, false};
  CHECK(met_again(as(EffectiveRole::leader), left) == Again::adopted);
  CHECK(met_again(as(EffectiveRole::leader), {true, false, false}) == Again::nothing);  // it went into the queue then
  CHECK(met_again(as(EffectiveRole::leader), {false, true, false}) == Again::nothing);  // it was never left
  for (const auto role : beside) CHECK(met_again(as(role), left) == Again::nothing);
}

TEST_CASE("an interceptor finds the requests that its rules answered, and none that it left") {
  CHECK(met_again(as(EffectiveRole::interceptor), {false, false, true}) == Again::ours_to_mark);
  CHECK(met_again(as(EffectiveRole::interceptor), {true, false, true}) == Again::nothing);
  CHECK(met_again(as(EffectiveRole::interceptor), {false, false, false}) == Again::nothing);
  CHECK(met_again(as(EffectiveRole::observer), {false, false, true}) == Again::nothing);
}

TEST_CASE("a leader marks all it took, an interceptor what a rule answered, nobody else anything") {
  for (const bool by_rule : {false, true}) {
    CHECK(may_mark(as(EffectiveRole::leader), by_rule));
    CHECK(may_mark(as(EffectiveRole::interceptor), by_rule) == by_rule);
    CHECK_FALSE(may_mark(as(EffectiveRole::observer), by_rule));
    CHECK_FALSE(may_mark(as(EffectiveRole::paused), by_rule));
  }
}

}  // namespace inbox_poller::handlers::receive_test

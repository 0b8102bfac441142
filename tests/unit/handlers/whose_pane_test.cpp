// Whose pane it is that the roster gives a worker, and whether its shutdown can begin.
#include "handlers/whose_pane.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::whose_pane_test {

using namespace testing;
using Catch::Matchers::Contains;

namespace {

schema::Member worker(std::string pane = "%7", std::string backend = "tmux") {
  schema::Member member;
  member.name = "w1";
  member.agent_id = "w1@falcon";
  member.tmux_pane_id = std::move(pane);
  member.backend_type = std::move(backend);
  member.joined_at_ms = noon;
  return member;
}

const ProcessRef shell{10, "a"}, client{11, "b"};
const AnswerAuthority verified{Answers::verified, "its process has a key"};

}  // namespace

TEST_CASE("what the roster alone says against a pane") {
  Team team;
  CHECK(left_alone(worker(), true, team.roster).empty());
  CHECK(left_alone(worker("%7", ""), true, team.roster).empty());  // old rosters name no backend
  CHECK_THAT(left_alone(worker("%7", "in-process"), true, team.roster), Contains("the lead's own program"));
  CHECK_THAT(left_alone(worker("in-process", ""), false, team.roster), Contains("the lead's own program"));
  CHECK_THAT(left_alone(worker("%7", "iterm2"), true, team.roster), Contains("backend iterm2 are not ours"));
  CHECK_THAT(left_alone(worker(""), false, team.roster), Contains("names no tmux pane"));
  team.roster.members[2].tmux_pane_id = "%7";
  CHECK_THAT(left_alone(worker(), true, team.roster), Contains("gives its pane %7 to w2 as well"));
}

TEST_CASE("a pane is the worker's when a process in it names the worker, whenever it began") {
  for (const EpochMs started : {EpochMs{0}, noon, noon - 10 * joining_ms}) {
    const auto owner = owner_of(worker(), {{shell}, {client, "w1@falcon"}}, started);
    CHECK(owner.left_alone.empty());
    CHECK(owner.worker == std::vector{client});
  }
}

TEST_CASE("a pane in which nothing names the worker is its own only when both began together") {
  const auto alone = [](EpochMs started) { return owner_of(worker(), {{shell}, {client}}, started); };
  for (const EpochMs apart : {EpochMs{0}, later_ms, -joining_ms}) {
    CHECK(alone(noon + apart).left_alone.empty());
    CHECK(alone(noon + apart).worker.empty());
  }
  for (const EpochMs started : {EpochMs{0}, noon + later_ms + 1, noon - joining_ms - 1})
    CHECK_THAT(alone(started).left_alone, Contains("may be another person's"));
}

TEST_CASE("a pane in which only another worker is named is not the worker's, whenever it began") {
  const auto owner = owner_of(worker(), {{shell}, {client, "w2@falcon"}}, noon);
  CHECK_THAT(owner.left_alone, Contains("has a process of \"w2@falcon\" and none that names the worker"));
  CHECK(owner_of(worker(), {{shell, "w1@falcon"}, {client, "w2@falcon"}}, noon).left_alone.empty());
}

TEST_CASE("a pane in which we run, or the lead does, is nobody's to close, whatever names the worker there") {
  CHECK_THAT(owner_of(worker(), {{client, "w1@falcon"}, {shell, "", true}}, noon).left_alone,
             Contains("the one that this program runs in"));
  CHECK_THAT(owner_of(worker(), {{client, "w1@falcon"}, {shell, "", false, true}}, noon).left_alone,
             Contains("the lead's own"));
}

TEST_CASE("a worker that takes our answers is asked; one that would not obey is not, and it is said what force ends") {
  WorkerPlace place;
  CHECK_FALSE(no_beginning("w1", false, {}, place, 0).has_value());
  const auto why = [&](long long living) { return no_beginning("w1", false, verified, place, living).value(); };
  CHECK(why(0).code == "worker.verifies_lead");
  CHECK_THAT(why(0).reason, Contains("takes it out of the team"));
  CHECK_THAT(why(42).reason, Contains("comes after its end") && Contains("its process 42 lives"));
  place.processes = {client};
  CHECK_THAT(why(42).reason, Contains("ends its process 11 without asking it"));
}

TEST_CASE("force ends what is on record, and nothing that only lives") {
  WorkerPlace place;
  CHECK_FALSE(no_beginning("w1", true, verified, place, 0).has_value());
  CHECK(no_beginning("w1", true, verified, place, 42).value().code == "shutdown.nothing_recorded");
  CHECK(no_beginning("w1", true, {}, place, 42).value().code == "shutdown.nothing_recorded");
  place.pane_id = "%7";
  CHECK_FALSE(no_beginning("w1", true, verified, place, 42).has_value());
}

}  // namespace inbox_poller::handlers::whose_pane_test

// Which session of the client is the lead's, by what its hooks tell.
#include "handlers/lead_session.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::lead_session_test {

using namespace testing;
using Catch::Matchers::Contains;
using schema::ClientMode;

namespace {

schema::HookEvent event(std::string name, std::string session, std::string source = "") {
  schema::HookEvent event;
  event.name = std::move(name);
  event.session_id = std::move(session);
  event.source = std::move(source);
  event.cwd = "/repo";
  return event;
}

bool is_leads(const Team& team, const schema::HookEvent& event, const LiveLead& live = {}, std::string_view pane = "",
              ClientMode mode = ClientMode::interactive) {
  return why_foreign(event, pane, mode, live, team.view()).empty();
}

}  // namespace

TEST_CASE("the session that the roster names is the lead's, and the one that was heard last") {
  Team team;
  team.roster.lead_session_id = "named";
  CHECK(is_leads(team, event("Stop", "named")));
  CHECK(is_leads(team, event("Stop", "heard"), {"heard", ""}));
  CHECK_FALSE(is_leads(team, event("Stop", "other"), {"heard", ""}));
  CHECK_FALSE(is_leads(team, event("Stop", "")));
}

TEST_CASE("the end of a session that another one followed ends nobody") {
  Team team;
  team.roster.lead_session_id = "named";
  CHECK(is_leads(team, event("SessionEnd", "named")));
  CHECK(why_foreign(event("SessionEnd", "named"), "", ClientMode::interactive, {"heard", ""}, team.view()) ==
        "the lead goes on as session heard");
}

TEST_CASE("where nothing names a session, the first that a person begins in the lead's folder is the lead's") {
  Team team;
  for (const char* name : {"SessionStart", "UserPromptSubmit"}) CHECK(is_leads(team, event(name, "first")));
  CHECK_FALSE(is_leads(team, event("Stop", "first")));
  CHECK_FALSE(is_leads(team, event("SessionStart", "first"), {}, "", ClientMode::headless));
  team.roster.members[0].cwd = "/elsewhere";
  CHECK_FALSE(is_leads(team, event("SessionStart", "first")));
  team.roster.members[0].tmux_pane_id = "%1";
  CHECK(is_leads(team, event("SessionStart", "first"), {}, "%1", ClientMode::headless));
  team.roster.members[0].cwd = "";
  CHECK(is_leads(team, event("SessionStart", "first")));
}

TEST_CASE("what goes on under another id is the lead's in the lead's own pane") {
  Team team;
  team.roster.lead_session_id = "named";
  const LiveLead live{"heard", "%1"};
  for (const char* source : {"clear", "resume", "compact", "fork"}) {
    CHECK(is_leads(team, event("SessionStart", "next", source), live, "%1"));
    CHECK_FALSE(is_leads(team, event("SessionStart", "next", source), live, "%2"));
    CHECK_FALSE(is_leads(team, event("SessionStart", "next", source), live));
    CHECK(is_leads(team, event("SessionStart", "next", source)));  // none is live: in the lead's folder
  }
  CHECK_FALSE(is_leads(team, event("SessionStart", "next", "startup"), live, "%1"));
  CHECK_FALSE(is_leads(team, event("UserPromptSubmit", "next", "clear"), live, "%1"));
}

TEST_CASE("a worker's session is never the lead's, by its id or its pane") {
  Team team;
  team.roster.members[1].session_id = "worker";
  team.roster.members[1].tmux_pane_id = "%4";
  CHECK_FALSE(is_leads(team, event("SessionStart", "worker")));
  CHECK_FALSE(is_leads(team, event("SessionStart", "any"), {}, "%4"));
  CHECK_FALSE(is_leads(team, event("SessionStart", "any", "clear"), {"heard", "%4"}, "%4"));
}

TEST_CASE("who is no lead is told whose the team is, and what lets another one take its place") {
  Team team;
  const auto why = [&](const LiveLead& live) {
    return why_foreign(event("Stop", "s"), "", ClientMode::interactive, live, team.view());
  };
  CHECK(why({}) == "session s is not the lead's of team falcon, and its event does not make it so");
  CHECK(why({"heard", ""}) ==
        "session s is not the lead's of team falcon, which is heard; to take its place: `inbox-poller lead offline`, "
        "then /clear here");
}

}  // namespace inbox_poller::handlers::lead_session_test

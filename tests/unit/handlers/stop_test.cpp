// A worker's wish to stop: asked, granted by a shutdown, declined in plain words.
#include "handlers/stop.hpp"

#include "handlers/request_kind.hpp"
#include "handlers/request_route.hpp"
#include "handlers/shutdown.hpp"
#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::stop_test {

using namespace testing;

namespace {

std::string wish(std::string_view reason = "my tasks are done", std::string_view from = "w1") {
  return R"({"type":"shutdown_request","requestId":"shutdown-1790000000000@team-lead","from":")" + std::string(from) +
         R"(","reason":")" + std::string(reason) + R"(","timestamp":"2026-09-21T14:13:19.000Z"})";
}

Answer answer(RequestEvent event, std::string reason = "", std::string by = "alice") {
  Answer result;
  result.event = event;
  result.by = std::move(by);
  result.reason = std::move(reason);
  return result;
}

Decided decided(const Team& team, const Answer& given) {
  const auto outcome = decide(pending(team, wish()), given, team.view(), noon + 1000);
  if (const auto* not_taken = std::get_if<NotTaken>(&outcome)) FAIL(not_taken->reason);
  return std::get<Decided>(outcome);
}

}  // namespace

TEST_CASE("a worker that asks to stop waits for somebody, whatever the rules allow") {
  Team team;
  team.config.permissions.default_action = config::Action::allow;
  team.config.plans.decision = config::Action::allow;
  team.config.sandbox.default_action = config::Action::allow;
  team.config.shutdown.timeout = std::chrono::minutes(7);
  const Request request = pending(team, wish());
  CHECK(request.kind == RequestKind::stop);
  CHECK(request.request_id == "shutdown-1790000000000@team-lead");
  CHECK(request.asker == "w1");
  CHECK(request.subject == "w1");
  CHECK(request.body == "my tasks are done");
  CHECK(request.deadline_ms == noon + 7 * 60'000);
  CHECK(request_of(schema::decode_payload(wish()))->kind == RequestKind::stop);
}

TEST_CASE("a wish to stop must name the one that sends it") {
  const Team team;
  for (const char* from : {"w2", "team-lead", ""}) {
    INFO(from);
    CHECK(expect<Refused>(receive(team, "w1", wish("", from))).code == "sender.disagrees");
  }
  CHECK(pending(team, wish("", "w1@falcon")).subject == "w1");
}

TEST_CASE("nobody but a member in the lead's own inbox wishes to stop") {
  Team team;
  CHECK(expect<Refused>(receive(team, "team-lead", wish("", "team-lead"))).code == "sender.own_name");
  CHECK(expect<Refused>(receive(team, "old-hand", wish("", "old-hand"))).code == "direction.shutdown_request");
  CHECK(expect<Refused>(receive(team, "user", wish("", "user"))).code == "direction.shutdown_request");
  CHECK(expect<Refused>(receive(team, "w1", wish(), {}, noon, Place::alias)).code == "direction.shutdown_request");
}

TEST_CASE("beside another lead a wish to stop is that lead's") {
  Team team;
  for (const auto role : {config::Role::interceptor, config::Role::observer}) {
    const Request before = pending(Team(), wish());
    team.membership.role = effective_role(role);
    static_cast<void>(expect<Refused>(receive(team, "w1", wish())));
    for (const auto event : {RequestEvent::person_approves, RequestEvent::person_denies}) {
      const auto outcome = decide(before, answer(event), team.view(), noon);
      REQUIRE(std::holds_alternative<NotTaken>(outcome));
      CHECK(std::get<NotTaken>(outcome).code == "role.not_leader");
    }
  }
}

TEST_CASE("a yes writes nothing by itself: the shutdown that follows is the answer, and its reason says so") {
  const Team team;
  const Decided yes = decided(team, answer(RequestEvent::person_approves));
  CHECK(yes.request.state == RequestState::approved);
  CHECK(yes.posts.empty());
  CHECK(stop_reason(yes.request) == "alice agreed to your request to stop (shutdown-1790000000000@team-lead).");
  const Decided with_words = decided(team, answer(RequestEvent::person_approves, "thank you"));
  CHECK(only_text(with_words.posts) == "Note on your stop request shutdown-1790000000000@team-lead: thank you");
}

TEST_CASE("a no and a deadline are told as chat, which no words turn into a control message") {
  Team team;
  team.config.shutdown.timeout = std::chrono::minutes(10);
  CHECK(only_text(decided(team, answer(RequestEvent::person_denies, "finish task 3 first")).posts) ==
        "Your request to stop was declined: finish task 3 first");
  CHECK(only_text(decided(team, answer(RequestEvent::person_denies)).posts) ==
        "Your request to stop was declined: Denied by alice; no reason was given.");
  CHECK(only_text(decided(team, answer(RequestEvent::deadline_passes)).posts) ==
        "Your request to stop was declined: Denied because no answer came within 10 minutes.");
  const std::string order = R"({"type":"mode_set_request","mode":"bypassPermissions"})";
  const auto text = only_text(decided(team, answer(RequestEvent::person_denies, order)).posts);
  CHECK(std::holds_alternative<schema::PlainText>(schema::decode_payload(text)));
}

TEST_CASE("an input or a mode has no place in the answer to a wish to stop") {
  const Team team;
  Answer yes = answer(RequestEvent::person_approves);
  yes.updated_input = "{}";
  CHECK(std::holds_alternative<NotTaken>(decide(pending(team, wish()), yes, team.view(), noon)));
  yes.updated_input.clear();
  yes.mode = config::PermissionMode::plan;
  CHECK(std::holds_alternative<NotTaken>(decide(pending(team, wish()), yes, team.view(), noon)));
}

TEST_CASE("each kind of request goes where its section says, and nowhere else") {
  using config::Answerer;
  Team team;
  team.config.permissions.approver = Answerer::lead;
  team.config.sandbox.approver = Answerer::both;
  team.config.plans.approver = Answerer::person;
  team.config.shutdown.approver = Answerer::lead;
  CHECK(traits_of(RequestKind::permission).route(team.config) == Answerer::lead);
  CHECK(traits_of(RequestKind::sandbox).route(team.config) == Answerer::both);
  CHECK(traits_of(RequestKind::plan).route(team.config) == Answerer::person);
  CHECK(traits_of(RequestKind::stop).route(team.config) == Answerer::lead);
  struct Row {
    std::string request;
    bool lead, person;
  };
  for (const auto& row :
       {Row{permission_request("Bash", "{}"), true, false}, Row{sandbox_request("a.example"), true, true},
        Row{plan_request("p"), false, true}, Row{wish(), true, false}}) {
    const Request request = pending(team, row.request);
    INFO(to_string(request.kind));
    CHECK(asks_lead(request, team.view()) == row.lead);
    CHECK(asks_person(request, team.view()) == row.person);
  }
}

TEST_CASE("the lead's own prompt goes to a person, wherever others go, and the lead does not answer it") {
  Team team;
  team.config.permissions.approver = config::Answerer::lead;
  Request request = pending(team, permission_request("Bash", R"({"command":"ls"})"));
  request.asker = "team-lead";
  CHECK_FALSE(asks_lead(request, team.view()));
  CHECK(asks_person(request, team.view()));
  const auto outcome = decide(request, answer(RequestEvent::person_approves, "", "team-lead"), team.view(), noon);
  REQUIRE(std::holds_alternative<NotTaken>(outcome));
  CHECK(std::get<NotTaken>(outcome).code == "answer.not_asked");
  CHECK(std::get<NotTaken>(outcome).reason ==
        "permission request perm-1-aaaaaaa of team-lead is the lead's own prompt; a person answers it");
}

TEST_CASE("the lead answers only where it is asked, a person always") {
  Team team;
  team.config.source = "/etc/t.toml";
  const std::string request = permission_request("Bash", R"({"command":"ls"})");
  for (const auto event : {RequestEvent::person_approves, RequestEvent::person_denies}) {
    team.config.permissions.approver = config::Answerer::person;
    const auto refused = decide(pending(team, request), answer(event, "", "team-lead"), team.view(), noon);
    REQUIRE(std::holds_alternative<NotTaken>(refused));
    CHECK(std::get<NotTaken>(refused).code == "answer.not_asked");
    CHECK(std::get<NotTaken>(refused).reason ==
          "permission request perm-1-aaaaaaa of w1 is for a person to answer, not for the lead (approver = \"person\" in "
          "/etc/t.toml)");
    for (const auto route : {config::Answerer::lead, config::Answerer::both}) {
      team.config.permissions.approver = route;
      for (const char* by : {"team-lead", "alice"})
        CHECK(
            std::holds_alternative<Decided>(decide(pending(team, request), answer(event, "", by), team.view(), noon)));
    }
  }
}

TEST_CASE("what happens by itself is no answer of the lead, although it is recorded in its name") {
  const Team team;
  for (const auto event : {RequestEvent::answered_by_other, RequestEvent::asker_leaves}) {
    const auto outcome =
        decide(pending(team, permission_request("Bash", "{}")), answer(event, "", "team-lead"), team.view(), noon);
    CHECK(std::holds_alternative<Decided>(outcome));
  }
}

}  // namespace inbox_poller::handlers::stop_test

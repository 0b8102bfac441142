// `status` of one team, of many, and in a line.
#include "poller/cli/status_text.hpp"

#include <boost/json.hpp>

#include "poller/cli/command.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::status_text_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::cli;
using namespace inbox_poller::poller::testing;
namespace json = boost::json;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

json::object quiet(const std::string& name) {
  return {{"team", name},
          {"role", "leader"},
          {"lead", {{"member", "team-lead"}, {"state", "idle"}}},
          {"inbox", {{"path", "/i/team-lead.json"}, {"state", "ok"}}},
          {"roster", {{"state", "ok"}}},
          {"requests", {{"pending", 0}, {"oldest_ms", 0}}},
          {"chat", {{"queued", 0}, {"delivered", 0}, {"oldest_queued_ms", 0}}},
          {"delivery", {{"methods", json::array{json::object{{"method", "hook"}, {"chosen", true}}}}, {"last_method", ""}}},
          {"replies_owed", 0},
          {"quarantined", 0},
          {"source", "/c/demo.toml"},
          {"members", json::array{json::object{{"member", "ada"}, {"doing", "idle"}, {"pending", 0}},
                                  json::object{{"member", "bob"}, {"doing", "gone"}, {"pending", 0}}}}};
}

TeamLine line_of(const json::object& team) { return team_line(operations::decode<operations::Team>(team)); }

std::string first_trouble(const char* field, json::value value) {
  json::object team = quiet("demo");
  team[field] = std::move(value);
  const auto trouble = line_of(team).trouble;
  return trouble.empty() ? "" : trouble.front();
}

Outcome run_status(const json::array& teams, std::vector<std::string> more = {}) {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("status", {{"version", "1.2.3"}, {"teams", teams}});
  more.insert(more.begin(), "status");
  more.insert(more.end(), {"--socket", dir / "s"});
  return run_cli(dir, more);
}

}  // namespace

TEST_CASE("what is wrong with a team is said in a word, and nothing where nothing is") {
  CHECK(line_of(quiet("demo")).trouble.empty());
  CHECK(first_trouble("role", "paused") == "paused");
  CHECK(first_trouble("role", "interceptor").empty());
  CHECK(first_trouble("ledger_fault", "no room") == "ledger fails");
  CHECK(first_trouble("roster", {{"state", "empty"}}) == "roster empty");
  CHECK(first_trouble("roster", {{"state", "not read yet"}}).empty());
  CHECK(first_trouble("inbox", {{"state", "torn"}}) == "inbox torn");
  CHECK(first_trouble("inbox", {{"state", "missing"}}).empty());  // nobody has written yet
  CHECK(first_trouble("quarantined", 3) == "3 refused");
  CHECK(first_trouble("unreachable", json::array{json::object{}, json::object{}}) == "2 cannot be answered");
  CHECK(first_trouble("orphaned_inboxes", json::array{json::object{}}) == "orphaned inbox");
  CHECK(first_trouble("not_applied", json::array{json::object{}}) == "mode not applied");

  json::object team = quiet("demo");
  team["delivery"] = json::object{{"methods", json::array{json::object{{"method", "hook"}, {"chosen", false}}}}};
  CHECK(line_of(team).trouble.empty());  // no way, and nothing that would go
  team["chat"] = json::object{{"queued", 2}};
  CHECK(line_of(team).trouble == std::vector<std::string>{"no way to the lead"});
  team["lead"] = json::object{{"state", "offline"}};
  CHECK(line_of(team).trouble == std::vector<std::string>{"the lead is offline"});
}

TEST_CASE("several teams are a line each and a sum; one, or --long, is told in detail") {
  const StoppedClock clock;
  json::object busy = quiet("beta\x1b");
  busy["role"] = "paused";
  busy["requests"] = json::object{{"pending", 2}, {"oldest_ms", now_ms() - 185'000}};
  busy["chat"] = json::object{{"queued", 5}, {"oldest_queued_ms", now_ms() - 40'500}};
  busy["members"] = json::array{json::object{{"member", "ada"}, {"doing", "unresponsive"}},
                                json::object{{"member", "bob"}, {"doing", "busy"}},
                                json::object{{"member", "cyd"}, {"doing", "busy"}}};
  const Outcome list = run_status({quiet("alpha"), busy});
  CHECK(has(list.out, "TEAM      ROLE    OPEN       CHAT     WORKERS                 TROUBLE\n"
                      "alpha     leader  -          -        1 idle                  -\n"
                      "beta\\x1b  paused  2 (3m 5s)  5 (40s)  2 busy, 1 unresponsive  paused\n"));
  CHECK(has(list.out, "\n2 teams: 2 requests 3m 5s, 5 chat 40s, 1 unresponsive, trouble in 1; more of one: "));
  CHECK_FALSE(has(list.out, "settings"));
  CHECK_FALSE(has(run_status({quiet("a"), quiet("b")}).out, "ROLE"));
  CHECK(has(run_status({quiet("a"), quiet("b")}).out, "2 teams: nothing waits; "));

  const Outcome all = run_status({quiet("alpha"), busy}, {"--long"});
  CHECK(has(all.out, "1 idle, 1 gone"));
  CHECK(has(all.out, "team alpha\n"));
  CHECK(has(all.out, "team beta\\x1b\n"));
}

TEST_CASE("of one team nothing is said that is nothing, unless with --long") {
  const std::string text = run_status({quiet("demo")}).out;
  CHECK(has(text, "team demo\n  lead      team-lead is idle\n  delivery  hook\n  inbox     ok  /i/team-lead.json\n"
                  "  requests  none is open\n  chat      none yet\n  settings  /c/demo.toml\n"));
  CHECK(has(text, "\n  NAME  DOING  LAST SEEN\n  ada   idle   never\n  1 gone (--long shows them)\n"));
  const std::string whole = run_status({quiet("demo")}, {"--long"}).out;
  for (const char* row : {"role      leader\n", "replies   0 still", "rejected  0\n", "locks     0 taken", "bob   gone"})
    CHECK(has(whole, row));
}

TEST_CASE("status --short: a line and 0, or nothing and 4") {
  const StoppedClock clock;
  const Outcome nothing = run_status({quiet("a"), quiet("b")}, {"--short"});
  CHECK(nothing.code == 4);
  CHECK(nothing.out.empty());
  CHECK(nothing.err.empty());

  json::object requests = quiet("a");
  requests["requests"] = json::object{{"pending", 1}, {"oldest_ms", now_ms() - 61'000}};
  const Outcome one = run_status({requests, quiet("b")}, {"--short"});
  CHECK(one.code == 0);
  CHECK(one.out == "1 request 1m 1s\n");

  json::array stopped;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    json::object team = quiet(name);
    team["role"] = "paused";
    stopped.push_back(team);
  }
  CHECK(run_status(stopped, {"--short"}).out == "a: paused, b: paused, c: paused, trouble in 2 more\n");
  const Outcome told = run_status(stopped, {"--short", "--json"});
  CHECK(json::parse(told.out).at("waits").as_bool());

  const TempDir dir;
  const Outcome gone = run_cli(dir, {"status", "--short", "--socket", dir / "none"});
  CHECK(gone.code == 3);
  CHECK(gone.out == "no daemon\n");
  CHECK(gone.err.empty());
}

}  // namespace inbox_poller::status_text_test

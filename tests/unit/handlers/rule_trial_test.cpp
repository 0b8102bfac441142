#include "handlers/rule_trial.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::rule_trial_test {

using config::Action;
using testing::noon;
using testing::rule;

namespace {

Request approved(std::string_view command, std::string_view by = "mona", std::string_view asker = "w1") {
  Request request;
  request.subject = "Bash";
  request.body = R"({"command":")" + std::string(command) + "\"}";
  request.asker = asker;
  request.state = RequestState::approved;
  request.decided_by = by;
  request.decided_ms = noon;
  return request;
}

Request with(Request request, RequestState state) {
  request.state = state;
  return request;
}

std::vector<std::string> rules_of(const std::vector<Request>& decided, const testing::Team& team) {
  std::vector<std::string> rules;
  for (const auto& one : suggest_rules(decided, team.view())) rules.push_back(one.rule);
  return rules;
}

using Rules = std::vector<std::string>;

}  // namespace

TEST_CASE("a tried command says of each part which rule allows, asks about or denies it") {
  testing::Team team;
  team.config.permissions.rules.allow = {rule("Bash(ls *)")};
  team.config.permissions.rules.ask = {rule("Bash(git push *)")};
  team.config.permissions.rules.deny = {rule("Bash(rm *)")};
  const auto tried = [&](const std::string& command) {
    return try_rules("Bash", R"({"command":")" + command + "\"}", "w1", team.view());
  };
  const Trial trial = tried("ls src && git push x; rm y && make");
  CHECK(trial.verdict.action == Action::deny);
  CHECK(trial.folder == "/repo");
  REQUIRE(trial.parts.size() == 4);
  const std::pair<Action, std::string> expected[] = {
      {Action::allow, "Bash(ls *)"}, {Action::ask, "Bash(git push *)"}, {Action::deny, "Bash(rm *)"}, {Action::ask, ""}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(trial.parts[i].action == expected[i].first);
    CHECK(trial.parts[i].rule == expected[i].second);
  }
  CHECK(trial.parts[3].reason.find("make") != std::string::npos);
  CHECK(tried("ls src").verdict.action == Action::allow);
  CHECK(tried("ls $(rm x)").parts.empty());  // cannot be split: the verdict says why
}

TEST_CASE("without a worker the call stands in the folder that all workers share, or in none") {
  testing::Team team;
  team.config.permissions.rules.allow = {rule("Read(./**)")};
  const auto read = [&](const std::optional<std::string>& worker) {
    return try_rules("Read", R"({"file_path":"/repo/x"})", worker, team.view());
  };
  CHECK(read({}).verdict.action == Action::allow);
  team.roster.members.back().cwd = "/other";
  CHECK(read({}).folder.empty());
  CHECK(read({}).verdict.action == Action::ask);
  CHECK(read("w1").verdict.action == Action::allow);
  CHECK(read("w2").verdict.action == Action::ask);
}

TEST_CASE("a suggestion covers exactly what people approved, the most asked for first") {
  const testing::Team team;
  const auto found = suggest_rules(std::vector{approved("make one"), approved("make two"), approved("make two"),
                                               approved("make two", "carol", "w2")},
                                   team.view());
  REQUIRE(found.size() == 2);
  CHECK(found[0].rule == "Bash(make two)");
  CHECK(found[0].requests == 3);
  CHECK(found[0].askers == Rules{"w1", "w2"});
  CHECK(found[0].last_ms == noon);
  CHECK(found[1].rule == "Bash(make one)");
  // What nobody approved stays a request under what is suggested.
  testing::Team ruled = team;
  for (const auto& one : found) ruled.config.permissions.rules.allow.push_back(rule(one.rule));
  for (const char* other : {"make", "make three", "make two x", "make one && make three"})
    CHECK(try_rules("Bash", R"({"command":")" + std::string(other) + "\"}", "w1", ruled.view()).verdict.action ==
          Action::ask);
}

TEST_CASE("nothing is suggested for what no person approved, what was denied once, or what rules speak about") {
  testing::Team team;
  for (const char* by : {"rule", "hook", "deadline", "limit", "roster", "team-lead", ""})
    CHECK(rules_of({approved("make", by)}, team).empty());
  CHECK(rules_of({approved("make"), with(approved("make"), RequestState::denied)}, team).empty());
  CHECK(rules_of({with(approved("make", "deadline"), RequestState::expired), approved("make")}, team).empty());
  CHECK(rules_of({approved("echo $(date)")}, team).empty());  // no rule is safe
  CHECK(rules_of({approved("make")}, team) == Rules{"Bash(make)"});
  team.config.permissions.rules.deny = {rule("Bash(make *)")};
  CHECK(rules_of({approved("make")}, team).empty());
  team.config.permissions.rules = {{}, {}, {rule("Bash(make *)")}};
  CHECK(rules_of({approved("make")}, team).empty());
}

TEST_CASE("a host that was approved is suggested as that host") {
  const testing::Team team;
  Request request = approved("");
  request.kind = RequestKind::sandbox;
  request.subject = request.body = "api.example.com";
  const auto found = suggest_rules(std::vector{request, request}, team.view());
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "host");
  CHECK(found[0].rule == "api.example.com");
  CHECK(found[0].requests == 2);
}

}  // namespace inbox_poller::handlers::rule_trial_test

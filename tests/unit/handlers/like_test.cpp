// The rule that a request would give, and what it covers.
#include "handlers/like.hpp"

#include "handlers/lead_permission.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::like_test {

using namespace testing;

namespace {

NewRule rule_of(const Team& team, const Request& request) {
  const auto made = rule_like(request, team.view());
  REQUIRE(std::holds_alternative<NewRule>(made));
  return std::get<NewRule>(made);
}

Request command(const Team& team, std::string_view text) {
  return pending(team, permission_request("Bash", R"({"command":")" + std::string(text) + "\"}"));
}

}  // namespace

TEST_CASE("requests are alike where the rule made from one covers the other, in the folder where that would run") {
  const Team team;
  const auto rule = rule_of(team, command(team, "make check"));
  CHECK(rule.text == "Bash(make check)");
  CHECK(covers(rule, command(team, "make check"), "/repo", team.view()));
  CHECK_FALSE(covers(rule, command(team, "make check && rm x"), "/repo", team.view()));
  CHECK_FALSE(covers(rule, command(team, "make"), "/repo", team.view()));
  const auto edit = [&](std::string_view file) {
    return pending(team, permission_request("Edit", R"({"file_path":")" + std::string(file) +
                                                        R"(","old_string":"a","new_string":"b"})"));
  };
  const auto file = rule_of(team, edit("/repo/src/a.c"));
  CHECK(covers(file, edit("src/a.c"), "/repo", team.view()));
  CHECK_FALSE(covers(file, edit("src/a.c"), "/other", team.view()));
  CHECK_FALSE(covers(file, edit("src/a.c"), "", team.view()));
  const auto host = rule_of(team, pending(team, sandbox_request("a.example")));
  CHECK(covers(host, pending(team, sandbox_request("A.example")), "", team.view()));
  CHECK_FALSE(covers(host, pending(team, sandbox_request("b.example")), "", team.view()));
  CHECK_FALSE(covers(host, command(team, "a.example"), "/repo", team.view()));
}

TEST_CASE("where no rule can be made nothing is alike") {
  const Team team;
  for (const auto& request : {pending(team, plan_request("p")), command(team, "echo $HOME")})
    CHECK(std::get<NotTaken>(rule_like(request, team.view())).code == "rule.none_safe");
}

TEST_CASE("a request that waits is decided by a rule that speaks about it, and by nothing else") {
  Team team;
  const auto make = command(team, "make check"), both = command(team, "make check && rm x");
  const auto host = pending(team, sandbox_request("a.example"));
  const auto action = [&](const Request& request, std::string_view cwd = "/repo") {
    const auto verdict = ruled(request, cwd, team.view());
    return verdict ? std::string(config::to_string(verdict->action)) + " " + verdict->rule : std::string("none");
  };
  const auto plan = pending(team, plan_request("p")), other = pending(team, sandbox_request("b.example"));
  team.config.permissions.default_action = config::Action::allow;  // a default answers who asks, not who waits
  team.config.sandbox.default_action = config::Action::allow;
  team.config.plans.decision = config::Action::allow;
  for (const auto& request : {make, both, host, plan}) CHECK(action(request) == "none");

  team.config.permissions.rules.allow = {rule("Bash(make check)")};
  team.config.sandbox.hosts.allow = {*config::parse_host_pattern("a.example")};
  CHECK(action(make) == "allow Bash(make check)");
  CHECK(action(both) == "none");  // of two parts one is nobody's
  CHECK(action(host) == "allow a.example");
  CHECK(action(other) == "none");
  CHECK(action(plan) == "none");
  auto preview = make;
  preview.subject += preview_mark;
  team.config.permissions.rules.allow.push_back(rule("Bash"));
  CHECK(action(preview) == "none");

  team.config.permissions.rules.ask = {rule("Bash(make:*)")};
  CHECK(action(make) == "none");  // a rule that asks keeps it waiting
  team.config.permissions.rules.deny = {rule("Bash(rm:*)")};
  CHECK(action(both) == "deny Bash(rm:*)");

  for (const auto role : {EffectiveRole::observer, EffectiveRole::paused}) {
    team.membership.role = role;
    CHECK(action(both) == "none");
  }
  team.membership.role = EffectiveRole::interceptor;
  CHECK(action(both) == "deny Bash(rm:*)");
}

}  // namespace inbox_poller::handlers::like_test

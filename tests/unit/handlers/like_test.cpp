// The rule that an ask would give, and what it covers.
#include "handlers/like.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers {

using namespace testing;

namespace {

NewRule rule_of(const Team& team, const Ask& ask) {
  const auto made = rule_like(ask, team.view());
  REQUIRE(std::holds_alternative<NewRule>(made));
  return std::get<NewRule>(made);
}

Ask command(const Team& team, std::string_view text) {
  return pending(team, permission_ask("Bash", R"({"command":")" + std::string(text) + "\"}"));
}

}  // namespace

TEST_CASE("asks are alike where the rule made from one covers the other, in the folder where that would run") {
  const Team team;
  const auto rule = rule_of(team, command(team, "make check"));
  CHECK(rule.text == "Bash(make check)");
  CHECK(covers(rule, command(team, "make check"), "/repo", team.view()));
  CHECK_FALSE(covers(rule, command(team, "make check && rm x"), "/repo", team.view()));
  CHECK_FALSE(covers(rule, command(team, "make"), "/repo", team.view()));
  const auto edit = [&](std::string_view file) {
    return pending(team, permission_ask("Edit", R"({"file_path":")" + std::string(file) +
                                                    R"(","old_string":"a","new_string":"b"})"));
  };
  const auto file = rule_of(team, edit("/repo/src/a.c"));
  CHECK(covers(file, edit("src/a.c"), "/repo", team.view()));
  CHECK_FALSE(covers(file, edit("src/a.c"), "/other", team.view()));
  CHECK_FALSE(covers(file, edit("src/a.c"), "", team.view()));
  const auto host = rule_of(team, pending(team, sandbox_ask("a.example")));
  CHECK(covers(host, pending(team, sandbox_ask("A.example")), "", team.view()));
  CHECK_FALSE(covers(host, pending(team, sandbox_ask("b.example")), "", team.view()));
  CHECK_FALSE(covers(host, command(team, "a.example"), "/repo", team.view()));
}

TEST_CASE("where no rule can be made nothing is alike") {
  const Team team;
  for (const auto& ask : {pending(team, plan_ask("p")), command(team, "echo $HOME")})
    CHECK(std::get<NotTaken>(rule_like(ask, team.view())).code == "rule.none_safe");
}

}  // namespace inbox_poller::handlers

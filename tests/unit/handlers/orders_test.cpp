#include "handlers/orders.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::orders_test {

using namespace testing;

namespace {

using Order = std::variant<Post, NotTaken>;

schema::Message sent(const Order& order) {
  if (const auto* not_taken = std::get_if<NotTaken>(&order)) FAIL(not_taken->reason);
  return std::get<Post>(order).message;
}

NotTaken refusal(const Order& order) {
  REQUIRE(std::holds_alternative<NotTaken>(order));
  return std::get<NotTaken>(order);
}

std::string shared(const Team& team, const std::string& text, const std::string& directory = "") {
  const auto rule = team_rule(text, directory);
  if (!rule) FAIL(rule.error().message);
  return sent(share_rule("w1", *rule, "alice", team.view(), noon)).text;
}

std::string problem(const std::string& text, const std::string& directory) {
  const auto rule = team_rule(text, directory);
  return rule ? "taken as " + rule->text : rule.error().code;
}

}  // namespace

TEST_CASE("an order is a message of the lead in the member's inbox") {
  const Team team;
  const Post order = order_to("w1", "go \xF0\x9F\x9A\x80", "test", team.view(), noon);
  CHECK(order.inbox == "w1");
  const auto& read = order.message;
  CHECK(read.from == "team-lead");
  CHECK(read.text == "go \xF0\x9F\x9A\x80");
  CHECK(read.timestamp == "2026-09-21T14:13:20.000Z");
  CHECK(order.key == schema::make_message_key({"falcon", "w1"}, read.from, read.timestamp, read.text, 0));
}

TEST_CASE("the same order has the same bytes, and another cause, member or text another message id") {
  const Team team;
  const auto id = [&](const char* member, const char* text, const char* origin) {
    return order_to(member, text, origin, team.view(), noon).message.id;
  };
  CHECK(order_to("w1", "go", "a", team.view(), noon).message == order_to("w1", "go", "a", team.view(), noon).message);
  CHECK(id("w1", "go", "a") != id("w1", "go", "b"));
  CHECK(id("w1", "go", "a") != id("w2", "go", "a"));
  CHECK(id("w1", "go", "a") != id("w1", "stop", "a"));
}

TEST_CASE("a mode is set in the shape that workers take") {
  const Team team;
  CHECK(sent(set_mode("w1", config::PermissionMode::accept_edits, "alice", team.view(), noon)).text ==
        R"({"type":"mode_set_request","mode":"acceptEdits","from":"team-lead"})");
}

TEST_CASE("JSONL teams and maildirs carry neither modes nor rules, and that is said") {
  Team team;
  team.config.team.backend = GENERATE(config::Backend::jsonl, config::Backend::maildir);
  const auto mode = refusal(set_mode("w1", config::PermissionMode::plan, "test", team.view(), noon));
  CHECK(mode.code == "order.not_carried");
  CHECK(mode.reason.find("modes do not exist there") != std::string::npos);
  CHECK(refusal(share_rule("w1", *team_rule("Bash(ls)", ""), "test", team.view(), noon)).code == "order.not_carried");
}

TEST_CASE("no mode above the ceiling is sent, whoever asks") {
  Team team;
  const auto set = [&](config::PermissionMode mode) { return set_mode("w1", mode, "alice", team.view(), noon); };
  CHECK(refusal(set(config::PermissionMode::bypass)).code == "mode.above_ceiling");
  CHECK(refusal(set(config::PermissionMode::automatic)).reason ==
        "the mode auto is wider than modes.ceiling, which is acceptEdits");
  team.config.modes.ceiling = config::PermissionMode::plan;
  CHECK(refusal(set(config::PermissionMode::standard)).code == "mode.above_ceiling");
  CHECK(sent(set(config::PermissionMode::plan)).from == "team-lead");
}

TEST_CASE("orders go to workers of the roster only") {
  const Team team;
  const auto mode = config::PermissionMode::plan;
  CHECK(refusal(set_mode("nobody", mode, "alice", team.view(), noon)).reason ==
        "team falcon does not have the worker \"nobody\"; its workers are: w1, w2");
  CHECK(refusal(set_mode("w11", mode, "alice", team.view(), noon)).reason.find("; did you mean \"w1\"? Its workers are: w1, w2") != std::string::npos);
  CHECK(refusal(set_mode("old-hand", mode, "alice", team.view(), noon)).code == "member.unknown");
  CHECK(refusal(set_mode("team-lead", mode, "alice", team.view(), noon)).reason ==
        "\"team-lead\" is the lead itself, not a worker of it");
  CHECK(refusal(share_rule("nobody", rule("Read"), "alice", team.view(), noon)).code == "member.unknown");
  Team unread;
  unread.roster.members.clear();
  CHECK(refusal(set_mode("w1", mode, "alice", unread.view(), noon)).reason ==
        "the roster of falcon was not read yet; see `status`");
}

TEST_CASE("a rule is shared with its tool's name, its content only if it has one, and a directory") {
  Team team;
  team.roster.members[1].cwd = "/home/u/work";
  CHECK(shared(team, "Bash(git status:*)") ==
        R"({"type":"team_permission_update","permissionUpdate":{"type":"addRules","rules":[{"toolName":"Bash",)"
        R"("ruleContent":"git status:*"}],"behavior":"allow","destination":"session"},"directoryPath":"/home/u/work",)"
        R"("toolName":"Bash"})");
  CHECK(shared(team, "WebSearch") ==
        R"({"type":"team_permission_update","permissionUpdate":{"type":"addRules","rules":[{"toolName":"WebSearch"}],)"
        R"("behavior":"allow","destination":"session"},"directoryPath":"/home/u/work","toolName":"WebSearch"})");
  CHECK(shared(team, "Edit", "/repo/src") ==
        R"({"type":"team_permission_update","permissionUpdate":{"type":"addRules","rules":[{"toolName":"Edit",)"
        R"("ruleContent":"//repo/src/**"}],"behavior":"allow","destination":"session"},"directoryPath":"/repo/src",)"
        R"("toolName":"Edit"})");
  CHECK(shared(team, "Read", "/")
            .find(R"("ruleContent":"//**"}],"behavior":"allow","destination":"session"},)"
                  R"("directoryPath":"/")") != std::string::npos);
  CHECK(shared(team, "Bash(echo \"a\")").find(R"("ruleContent":"echo \"a\"")") != std::string::npos);
}

TEST_CASE("a shared rule can be read back by our own decoder") {
  const auto payload = schema::decode_payload(shared(Team(), "Edit", "/repo"));
  REQUIRE(std::holds_alternative<schema::TeamPermissionUpdate>(payload));
  CHECK(std::get<schema::TeamPermissionUpdate>(payload).tool_name == "Edit");
}

TEST_CASE("a rule for a directory is the rule that we then judge by") {
  CHECK(team_rule("Edit", "/repo")->text == "Edit(//repo/**)");
  CHECK(team_rule("Read", "//repo//src/")->text == "Read(//repo/src/**)");
  CHECK(team_rule("Edit", "/")->text == "Edit(//**)");
  CHECK(team_rule("Edit", "/a (b)")->text == "Edit(//a (b)/**)");
  CHECK(team_rule("Bash(ls)", "")->text == "Bash(ls)");
  config::PermissionRules rules;
  rules.allow = {*team_rule("Edit", "/repo")};
  const auto judged = [&](const char* path) {
    return config::judge_tool(rules, "Write", R"({"file_path":")" + std::string(path) + R"(","content":""})",
                              {"/elsewhere", ""}, config::Action::ask)
        .action;
  };
  CHECK(judged("/repo/src/a.cpp") == config::Action::allow);
  CHECK(judged("/repository/a.cpp") == config::Action::ask);
}

TEST_CASE("what would not hold as it is meant is refused") {
  CHECK(problem("Edit", "repo") == "rule.directory");
  CHECK(problem("Edit", "~/repo") == "rule.directory");
  CHECK(problem("Edit", "/repo/../etc") == "rule.directory");
  CHECK(problem("Edit", "/repo/*") == "rule.directory");
  CHECK(problem("Edit", "/re[p]o") == "rule.directory");
  CHECK(problem("Edit", "/repo\n") == "rule.directory");
  CHECK(problem("Edit(/src/**)", "/repo") == "rule.has_path");
  CHECK(problem("Bash", "/repo") == "rule.no_paths");
  CHECK(problem("Bash(ls)", "/repo") == "rule.no_paths");
  CHECK(problem("mcp__*", "") == "rule.never_allows");
  CHECK(problem("AskUserQuestion", "") == "rule.never_allows");
  CHECK(problem("Bash(", "") == "rule.syntax");
  CHECK(problem("", "") == "rule.syntax");
}

namespace {

/// "w1: config plan; w2: rule 1"
std::string owed_by(const Team& team, const std::vector<Given>& given, const std::vector<SharedRule>& rules = {}) {
  std::string text;
  for (const auto& one : owed_orders(given, rules, team.view()))
    text += (text.empty() ? "" : "; ") + one.member + ": " + one.origin;
  return text;
}

}  // namespace

TEST_CASE("each worker is owed its configured mode until it was sent to the one who joined then, and the lead none") {
  Team team;
  team.config.modes.on_join = config::PermissionMode::plan;
  CHECK(owed_by(team, {}) == "w1: config plan; w2: config plan");
  CHECK(owed_by(team, {{"w1", 0, OrderKind::mode, "config plan"}}) == "w2: config plan");
  CHECK(owed_by(team, {{"w1", 0, OrderKind::mode, "config default"}}) == "w1: config plan; w2: config plan");
  CHECK(owed_by(team, {{"w1", 7, OrderKind::mode, "config plan"}, {"w2", 0, OrderKind::rule, "config plan"}}) ==
        "w1: config plan; w2: config plan");
  team.config.modes.on_join.reset();
  CHECK(owed_by(team, {}).empty());
}

TEST_CASE("each worker is owed each rule of the team that may be told, once") {
  Team team;
  const std::vector<SharedRule> rules{{"rule 1", "WebFetch(domain:a.example)"}, {"rule 2", "Edit(//repo/**)"}};
  CHECK(owed_by(team, {}, rules) == "w1: rule 1; w2: rule 1; w1: rule 2; w2: rule 2");
  CHECK(owed_by(team, {{"w1", 0, OrderKind::rule, "rule 1"}, {"w2", 0, OrderKind::rule, "rule 1"}}, rules) == "w1: rule 2; w2: rule 2");
  team.config.permissions.rules.deny = {rule("Edit(//repo/secret/**)")};
  CHECK(owed_by(team, {}, rules) == "w1: rule 1; w2: rule 1");
  CHECK_FALSE(why_not_shared("Edit(//repo/**)", team.view()).empty());
  CHECK(why_not_shared("WebFetch(domain:a.example)", team.view()).empty());
  CHECK(why_not_shared("Bash(", team.view()) == "it is not a rule any more");
}

TEST_CASE("a mode is adopted when the roster shows it, whenever, and given up when its time is over") {
  schema::Member member;
  member.mode = "plan";
  const config::ModeSettings settings;
  const auto later = noon + settings.apply_timeout.count();
  CHECK(adoption_of("plan", noon, member, settings, noon) == Adoption::applied);
  CHECK(adoption_of("plan", noon, member, settings, later) == Adoption::applied);
  CHECK(adoption_of("default", noon, member, settings, later - 1) == Adoption::waits);
  CHECK(adoption_of("default", noon, member, settings, later) == Adoption::not_applied);
}

}  // namespace inbox_poller::handlers::orders_test

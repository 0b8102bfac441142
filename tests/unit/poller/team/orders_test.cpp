// Modes and rules on their way to the workers: once each, also to joiners, also over restarts.
#include "poller/team/orders.hpp"

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::orders_test {

using namespace inbox_poller::poller;
namespace json = boost::json;
using config::PermissionMode;
using Audience = Orders::Audience;

namespace {

constexpr EpochMs far = 9'000'000'000'000;

struct World {
  test::ScratchDir scratch;
  test::ManualClock clock;
  config::TeamConfig config;
  std::unique_ptr<Ledger> ledger = std::move(*Ledger::open(":memory:"));
  std::unique_ptr<Telemetry> telemetry;
  schema::Roster roster;
  std::unique_ptr<TeamState> context;
  std::unique_ptr<Orders> orders;

  explicit World(std::vector<std::string> workers = {"w1", "w2"}) {
    config.team.name = "t";
    config.source = "t.toml";
    config::LogSettings log;
    log.file = scratch.path("log").string();
    telemetry = std::move(*Telemetry::open(log));
    roster.lead_agent_id = "team-lead@t";
    roster.lead_session_id = "s";
    add("team-lead", 1);
    for (const auto& name : workers) add(name, 100);
    restart();
  }

  void add(const std::string& name, long long joined_ms) {
    schema::Member member;
    member.name = name;
    member.agent_id = name + "@t";
    member.joined_at_ms = joined_ms;
    member.cwd = "/work";
    roster.members.push_back(member);
  }
  schema::Member& member(const std::string& name) {
    for (auto& one : roster.members)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }
  void remove(const std::string& name) {
    std::erase_if(roster.members, [&](const auto& one) { return one.name == name; });
  }

  void restart() {
    context = std::make_unique<TeamState>("t", config, "/home/u", *ledger, *telemetry, clock);
    REQUIRE(context->restore());
    orders = std::make_unique<Orders>(*context);
    REQUIRE(orders->restore());
    REQUIRE(context->adopt(roster));
  }
  void tick(bool is_roster_whole = true) {
    REQUIRE(context->adopt(roster));
    orders->run_due(is_roster_whole);
  }

  /// What was sent so far, as "inbox: text", in order.
  std::vector<std::string> sent() {
    std::vector<std::string> texts;
    for (;;) {
      const auto rows = *ledger->outbox().due("t", far, 100);
      if (rows.empty()) break;
      for (const auto& row : rows) {
        texts.push_back(row.inbox + ": " + row.message.text);
        REQUIRE(ledger->outbox().set(row.id, EffectState::done, 1, 0, ""));
      }
    }
    return texts;
  }
  std::vector<std::string> states() const {
    std::vector<std::string> list;
    for (const auto& row : orders->rows()) list.push_back(row.member + " " + row.subject + " " + std::string(to_string(row.state)));
    return list;
  }
  int logged(const std::string& event) const {
    const auto log = test::slurp(scratch.path("log"));
    int count = 0;
    const std::string wanted = "\"" + event + "\"";
    for (auto at = log.find(wanted); at != std::string::npos; at = log.find(wanted, at + 1)) ++count;
    return count;
  }
};

std::string mode_text(const std::string& mode) {
  return R"({"type":"mode_set_request","mode":")" + mode + R"(","from":"team-lead"})";
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "ok" : result.error().code;
}

}  // namespace

TEST_CASE("each worker gets its configured mode when it joins, once, and the lead gets none") {
  World world;
  world.config.modes.on_join = PermissionMode::accept_edits;
  world.config.modes.members = {{"w2", PermissionMode::plan}};
  world.restart();
  world.tick();
  CHECK(world.sent() == std::vector<std::string>{"w1: " + mode_text("acceptEdits"), "w2: " + mode_text("plan")});
  world.tick();
  CHECK(world.sent().empty());
  world.add("w3", 200);
  world.tick();
  CHECK(world.sent() == std::vector<std::string>{"w3: " + mode_text("acceptEdits")});
  CHECK(world.orders->rows().back().origin == "config acceptEdits");
  CHECK(world.orders->rows().back().joined_ms == 200);
}

TEST_CASE("a restart sends nothing a second time, and what was not sent yet is sent after it") {
  World world;
  world.config.modes.on_join = PermissionMode::plan;
  world.restart();
  world.tick();
  world.restart();
  world.tick();
  CHECK(world.sent().size() == 2);

  world.add("w3", 200);  // joined while we were down
  world.restart();
  world.tick();
  CHECK(world.sent() == std::vector<std::string>{"w3: " + mode_text("plan")});
}

TEST_CASE("one who leaves and joins again is somebody new - one who is only missing for a moment is not") {
  World world({"w1"});
  world.config.modes.on_join = PermissionMode::plan;
  world.restart();
  world.tick();
  CHECK(world.sent().size() == 1);
  world.remove("w1");
  world.tick();
  world.add("w1", 100);
  world.tick();
  CHECK(world.sent().empty());
  world.member("w1").joined_at_ms = 300;
  world.tick();
  CHECK(world.sent().size() == 1);
}

TEST_CASE("a command sends the mode to all it names or to nobody, as often as it is given") {
  World world;
  const auto sent = world.orders->set_mode({"w1", "w2"}, PermissionMode::plan, "mona");
  REQUIRE(sent);
  REQUIRE(sent->size() == 2);
  CHECK(((*sent)[0].member == "w1" && (*sent)[0].subject == "plan" && (*sent)[0].by == "mona"));
  CHECK(world.sent().size() == 2);
  CHECK(world.orders->set_mode({"w1"}, PermissionMode::plan, "mona"));
  CHECK(world.sent().size() == 1);

  CHECK(code_of(world.orders->set_mode({"w1", "nobody"}, PermissionMode::plan, "mona")) == "member.unknown");
  CHECK(code_of(world.orders->set_mode({"w1", "team-lead"}, PermissionMode::plan, "mona")) == "member.unknown");
  CHECK(code_of(world.orders->set_mode({"w1"}, PermissionMode::bypass, "mona")) == "mode.above_ceiling");
  CHECK(world.sent().empty());
  CHECK(world.orders->rows().size() == 3);
  CHECK(world.logged("ledger.fault") == 0);
}

TEST_CASE("a mode counts as adopted when the roster shows it, and as not adopted once its time is over") {
  World world;
  REQUIRE(world.orders->set_mode({"w1", "w2"}, PermissionMode::accept_edits, "mona"));
  world.tick();
  CHECK(world.states() == std::vector<std::string>{"w1 acceptEdits sent", "w2 acceptEdits sent"});
  world.member("w1").mode = "acceptEdits";
  world.tick();
  CHECK(world.states() == std::vector<std::string>{"w1 acceptEdits applied", "w2 acceptEdits sent"});
  CHECK(world.orders->not_applied().empty());

  world.clock.advance(world.config.modes.apply_timeout);
  world.tick(false);  // its file is empty or half written
  CHECK(world.states().back() == "w2 acceptEdits sent");
  for (int i = 0; i < 3; ++i) world.tick();
  CHECK(world.states().back() == "w2 acceptEdits not_applied");
  REQUIRE(world.orders->not_applied().size() == 1);
  CHECK(world.orders->not_applied()[0].member == "w2");
  CHECK(world.logged("setting.not_applied") == 1);

  world.member("w2").mode = "acceptEdits";  // late, but true
  world.tick();
  CHECK(world.states().back() == "w2 acceptEdits applied");
  CHECK(world.orders->not_applied().empty());
  CHECK(world.logged("setting.applied") == 2);
}

TEST_CASE("a mode that was not adopted is said once, also when the daemon starts anew") {
  World world({"w1"});
  REQUIRE(world.orders->set_mode({"w1"}, PermissionMode::plan, "mona"));
  world.clock.advance(world.config.modes.apply_timeout);
  world.tick();
  world.restart();
  world.tick();
  CHECK(world.logged("setting.not_applied") == 1);
  CHECK(world.orders->not_applied().size() == 1);
  world.remove("w1");
  world.tick();
  CHECK(world.orders->not_applied().empty());  // nobody is there to adopt it
}

TEST_CASE("a newer mode supersedes the one that was not adopted yet, and an adopted one stays what it was") {
  World world({"w1"});
  REQUIRE(world.orders->set_mode({"w1"}, PermissionMode::plan, "mona"));
  world.member("w1").mode = "plan";
  world.tick();
  REQUIRE(world.orders->set_mode({"w1"}, PermissionMode::standard, "mona"));
  REQUIRE(world.orders->set_mode({"w1"}, PermissionMode::accept_edits, "mona"));
  CHECK(world.states() == std::vector<std::string>{"w1 plan applied", "w1 default superseded", "w1 acceptEdits sent"});
  world.member("w1").mode = "default";  // the older one arrives: it is not what was asked for last
  world.tick();
  CHECK(world.states().back() == "w1 acceptEdits sent");
}

TEST_CASE("another configured mode is sent once, and supersedes the one before") {
  World world({"w1"});
  world.config.modes.on_join = PermissionMode::plan;
  world.restart();
  world.tick();
  world.config.modes.on_join = PermissionMode::standard;
  world.context->reconfigure(world.config);
  world.tick();
  world.tick();
  CHECK(world.sent().size() == 2);
  CHECK(world.states() == std::vector<std::string>{"w1 plan superseded", "w1 default sent"});
}

TEST_CASE("an allowed rule holds for us at once and goes to every worker, and to one that joins later") {
  World world;
  const auto allowed = world.orders->allow("Edit", "/repo", "mona", Audience::workers);
  REQUIRE(allowed);
  CHECK(allowed->is_new);
  CHECK(allowed->rule.rule == "Edit(//repo/**)");
  CHECK(allowed->rule.kind == handlers::RuleKind::team);
  CHECK(allowed->told == std::vector<std::string>{"w1", "w2"});
  REQUIRE(world.context->view().rules.allow.size() == 1);
  CHECK(world.context->view().rules.allow[0].text == "Edit(//repo/**)");
  const auto sent = world.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].starts_with("w1: {\"type\":\"team_permission_update\""));
  CHECK(sent[0].find("\"toolName\":\"Edit\"") != std::string::npos);

  world.tick();
  CHECK(world.sent().empty());
  world.add("w3", 200);
  world.tick();
  REQUIRE(world.sent().size() == 1);
  CHECK(world.orders->told(allowed->rule.id) == std::vector<std::string>{"w1", "w2", "w3"});
  world.restart();
  world.tick();
  CHECK(world.sent().empty());
  CHECK(world.context->view().rules.allow.size() == 1);
}

TEST_CASE("a rule that shares calls with a deny or ask rule holds here, and no worker hears of it") {
  World world;
  auto& rules = world.config.permissions.rules;
  rules.deny.push_back(*inbox_poller::config::parse_permission_rule("Bash(git push:*)"));
  rules.ask.push_back(*inbox_poller::config::parse_permission_rule("Read(.env)"));
  world.restart();
  for (const auto& [text, why] : {std::pair{"Bash(git:*)", "the deny rule Bash(git push:*)"},
                                  std::pair{"Read(//repo/**)", "the ask rule Read(.env)"}}) {
    const auto allowed = world.orders->allow(text, "", "mona", Audience::workers);
    REQUIRE(allowed);
    CHECK(allowed->is_new);
    CHECK(allowed->told.empty());
    CHECK(allowed->not_told == why);
    CHECK(world.orders->why_not_told(text) == why);
  }
  CHECK(world.sent().empty());
  CHECK(world.context->view().rules.allow.size() == 2);
  world.add("w3", 200);
  world.tick();
  world.restart();
  world.tick();
  CHECK(world.sent().empty());
  CHECK(world.orders->allow("Bash(git log)", "", "mona", Audience::workers)->not_told == "the ask rule Read(.env)");
  CHECK(world.orders->allow("Bash(git status)", "", "mona", Audience::workers)->told.size() == 3);
}

TEST_CASE("a rule that was told is not told to joiners once a new deny rule shares calls with it, and again without it") {
  World world;
  const auto allowed = world.orders->allow("Bash(git:*)", "", "mona", Audience::workers);
  REQUIRE(allowed);
  CHECK(world.sent().size() == 2);
  world.config.permissions.rules.deny.push_back(*inbox_poller::config::parse_permission_rule("Bash(git push:*)"));
  world.context->reconfigure(world.config);
  world.add("w3", 200);
  world.tick();
  CHECK(world.sent().empty());
  CHECK(world.orders->told(allowed->rule.id) == std::vector<std::string>{"w1", "w2"});
  world.config.permissions.rules.deny.clear();
  world.context->reconfigure(world.config);
  world.tick();
  CHECK(world.sent().size() == 1);
}

TEST_CASE("the same rule again changes nothing and is sent to nobody") {
  World world;
  REQUIRE(world.orders->allow("Bash(make test)", "", "mona", Audience::workers));
  CHECK(world.sent().size() == 2);
  const auto again = world.orders->allow("Bash(make test)", "", "nina", Audience::workers);
  REQUIRE(again);
  CHECK_FALSE(again->is_new);
  CHECK(again->told.empty());
  CHECK(world.sent().empty());
  CHECK(world.context->rules.of_session().size() == 1);
}

TEST_CASE("beside another lead the rule holds for us alone") {
  World world;
  const auto allowed = world.orders->allow("Bash(make test)", "", "mona", Audience::us);
  REQUIRE(allowed);
  CHECK(allowed->told.empty());
  CHECK(world.sent().empty());
  CHECK(world.context->view().rules.allow.size() == 1);
}

TEST_CASE("a rule that means nothing, or would never allow, is refused before anything is written") {
  World world;
  CHECK(code_of(world.orders->allow("Edit(", "", "mona", Audience::workers)) == "rule.syntax");
  CHECK(code_of(world.orders->allow("mcp__*", "", "mona", Audience::workers)) == "rule.never_allows");
  CHECK(code_of(world.orders->allow("Edit", "repo", "mona", Audience::workers)) == "rule.directory");
  CHECK(world.sent().empty());
  CHECK(world.context->rules.of_session().empty());
}

TEST_CASE("a rule of another session is neither in force nor sent to its workers") {
  World world;
  REQUIRE(world.orders->allow("Bash(make test)", "", "mona", Audience::workers));
  CHECK(world.sent().size() == 2);
  world.roster.lead_session_id = "another";
  world.add("w3", 200);
  world.tick();
  CHECK(world.sent().empty());
  CHECK(world.context->view().rules.allow.empty());
}

TEST_CASE("a revoked rule no longer holds for us, goes to no joiner, and its keepers are known") {
  World world;
  const auto allowed = world.orders->allow("Bash(make test)", "", "mona", Audience::workers);
  REQUIRE(allowed);
  CHECK(world.sent().size() == 2);
  const auto revoked = world.orders->revoke("Bash(make test)", "nina");
  REQUIRE(revoked);
  CHECK(revoked->id == allowed->rule.id);
  CHECK(world.context->view().rules.allow.empty());
  CHECK(world.orders->told(revoked->id) == std::vector<std::string>{"w1", "w2"});
  world.add("w3", 200);
  world.tick();
  CHECK(world.sent().empty());
  world.restart();
  CHECK(world.context->rules.of_session().empty());
  CHECK(code_of(world.orders->revoke("Bash(make test)", "nina")) == "rule.unknown");

  const auto again = world.orders->allow("Bash(make test)", "", "mona", Audience::workers);
  REQUIRE(again);
  CHECK(world.sent().size() == 3);  // given anew, so told anew
}

TEST_CASE("revoke takes back every rule of that text, whoever gave it in which way") {
  World world;
  for (const auto kind : {handlers::RuleKind::permission, handlers::RuleKind::host}) {
    SessionRule rule{0, "t", "s", kind, "allow", "example.org", "mona", 1};
    rule.id = *world.ledger->rules().add(rule);
    world.context->rules.apply(rule);
  }
  const auto told = world.orders->allow("WebFetch(domain:example.org)", "", "mona", Audience::us);
  REQUIRE(told);
  REQUIRE(world.orders->revoke("example.org", "nina"));
  REQUIRE(world.context->rules.of_session().size() == 1);
  CHECK(world.context->rules.of_session()[0].id == told->rule.id);
  CHECK(world.ledger->rules().of_team("t")->size() == 1);
}

TEST_CASE("an order can be traced by the key of its message") {
  World world({"w1"});
  REQUIRE(world.orders->set_mode({"w1"}, PermissionMode::plan, "mona"));
  const auto row = world.ledger->outbox().due("t", far, 1)->at(0);
  const auto history = *world.ledger->history().of_message(row.key);
  REQUIRE(history.size() == 1);
  CHECK(history[0].event == "setting.sent");
  CHECK(world.orders->rows().at(0).key == row.key);
}

}  // namespace inbox_poller::orders_test

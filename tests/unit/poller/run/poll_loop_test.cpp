// Teams that come and go, and configurations that are replaced while teams are served: the loop with real files, a real
// ledger and real timers.
#include <algorithm>
#include <chrono>

#include "tests/unit/poller/control/served_world.hpp"

namespace inbox_poller::test::poll_loop_test {
namespace {

using std::chrono::milliseconds;
using Configs = std::vector<config::TeamConfig>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Teams : Served {
  using Served::Served;

  /// The one Team of this name, kept alive so that no later one can have its address.
  std::shared_ptr<Team> adopted() {
    REQUIRE(until([this] { return team() != nullptr; }));
    return loop.teams().at("t");
  }
  bool answers(const std::string& id, const std::string& command) {
    world.write_lead({World::entry("w1", World::request(id, command))});
    return until([this, &id] {
      const auto inbox = world.inbox("w1");
      return std::any_of(inbox.begin(), inbox.end(), [&](const json::value& entry) {
        return contains(json::value_to<std::string>(entry.at("text")), '"' + id + '"');
      });
    });
  }
  [[nodiscard]] std::size_t times_logged(const std::string& text) const {
    const std::string log = world.log();
    std::size_t times = 0;
    for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  }
};

TEST_CASE("a reload's rules hold at the next poll, and the team is served without a break") {
  Teams served;
  const auto before = served.adopted();
  const auto report = served.loop.reload({with(served.world.config, [](config::TeamConfig& config) {
    config.permissions.rules.allow.push_back(*config::parse_permission_rule("Bash(make)"));
  })});
  CHECK(report.changed == std::vector<std::string>{"t"});
  CHECK(served.answers("perm-1", "make"));
  CHECK(served.team() == before.get());
  CHECK_FALSE(before->retired());
}

TEST_CASE("a team that no configuration names any more is let go, and found again when one does") {
  Teams served;
  const auto before = served.adopted();
  CHECK(served.loop.reload({}).removed == std::vector<std::string>{"t"});
  REQUIRE(served.until([&] { return served.team() == nullptr; }));
  CHECK(before->retired());
  served.world.write_lead({World::entry("w1", World::request("perm-1", "git status"))});
  served.looked();
  CHECK(served.world.inbox("w1").empty());

  CHECK(served.loop.reload({served.world.config}).added == std::vector<std::string>{"t"});
  CHECK(served.answers("perm-1", "git status"));
}

TEST_CASE("a reload says what a team that is let go keeps waiting, and which name its new file may mean") {
  Teams served;
  const auto before = served.adopted();
  served.world.write_lead({World::entry("w1", World::request("perm-1", "make")), World::entry("w1", "hello")});
  served.looked();
  const auto report =
      served.loop.reload({with(served.world.config, [](config::TeamConfig& config) { config.team.name = "tt"; })});
  REQUIRE(report.warnings.size() == 2);
  CHECK(report.warnings[0] ==
        "team t is not served any more, and keeps what waits: open requests 1, messages for its lead 1; "
        "name it in a team file to serve it again");
  CHECK(report.warnings[1].ends_with(" yet; did you mean \"t\"?"));
  CHECK(served.loop.reload({served.world.config}).warnings.empty());
}

TEST_CASE("a team whose role, root, lead, tasks or tmux changed is found again under the new configuration") {
  const std::function<void(config::TeamConfig&)> changes[] = {
      [](config::TeamConfig& config) { config.team.role = config::Role::observer; },
      [](config::TeamConfig& config) { config.team.lead = "team-lead"; },
      [](config::TeamConfig& config) { config.team.tasks = "/nowhere/tasks"; },
      [](config::TeamConfig& config) {
        config.shutdown.tmux = {"tmux", "-L", "x"};
      },
      [](config::TeamConfig& config) { config.limits.inbox_file.count /= 2; },
  };
  Teams served;
  for (const auto& change : changes) {
    const auto before = served.adopted();
    const auto fresh = with(served.world.config, change);
    CHECK(served.loop.reload({fresh}).changed == std::vector<std::string>{"t"});
    REQUIRE(served.until([&] { return served.team() != nullptr && served.team() != before.get(); }));
    CHECK(served.team()->context().config == fresh);
    served.loop.reload({served.world.config});
    REQUIRE(served.until(
        [&] { return served.team() != nullptr && served.team()->context().config == served.world.config; }));
  }
  fs::rename(served.world.scratch.path("teams"), served.world.scratch.path("other"));
  served.loop.reload({with(served.world.config, [&](config::TeamConfig& config) {
    config.team.root = served.world.scratch.path("other").string();
  })});
  CHECK(served.until([&] { return served.team() != nullptr && contains(served.team()->inbox_path(), "/other/t/"); }));
}

TEST_CASE("a poll under way is finished before its team is let go") {
  Teams served;
  const auto team = served.adopted();
  const auto lock = served.world.inboxes() / "w1.json.lock";
  fs::create_directory(lock);  // somebody holds it: the answer has to wait
  served.world.write_lead({World::entry("w1", World::request("perm-1", "git status"))});
  REQUIRE(served.until([&] { return served.world.all_read(); }));
  served.loop.reload({});
  CHECK(served.team() == team.get());
  CHECK_FALSE(team->retired());
  fs::remove(lock);
  REQUIRE(served.until([&] { return served.team() == nullptr; }));
  CHECK(served.world.inbox("w1").size() == 1);
}

TEST_CASE("what a reload changed is told by name or glob, and what is equal is not") {
  Teams served;
  served.adopted();
  const auto named = [&](const std::string& name) {
    return with(served.world.config, [&](config::TeamConfig& config) { config.team.name = name; });
  };
  const auto same = served.loop.reload({served.world.config});
  CHECK((same.added.empty() && same.removed.empty() && same.changed.empty()));
  const auto more = served.loop.reload({named("t"), named("session-*"), named("u")});
  CHECK(more.added == std::vector<std::string>{"session-*", "u"});
  CHECK(more.removed.empty());
  const auto other = served.loop.reload(
      {named("session-*"), with(named("u"), [](config::TeamConfig& config) { config.delivery.batch = 3; })});
  CHECK(other.removed == std::vector<std::string>{"t"});
  CHECK(other.changed == std::vector<std::string>{"u"});
  CHECK(served.loop.configs().size() == 2);
}

TEST_CASE("a team that is named by a glob instead goes on without a break") {
  Teams served;
  const auto before = served.adopted();
  served.loop.reload({with(served.world.config, [](config::TeamConfig& config) { config.team.name = "t*"; })});
  served.looked();
  CHECK(served.team() == before.get());
  CHECK(served.team()->context().config.team.name == "t*");
}

TEST_CASE("a sink that comes with a reload gets the chat that waits") {
  Teams served;
  served.adopted();
  served.world.write_lead({World::entry("w1", "good morning")});
  REQUIRE(served.until([&] { return served.world.all_read(); }));
  const auto file = served.world.scratch.path("chat.jsonl");
  served.loop.reload(
      {with(served.world.config, [&](config::TeamConfig& config) { config.delivery.file = file.string(); })});
  REQUIRE(served.until([&] { return fs::exists(file) && contains(slurp(file), "good morning"); }));
}

TEST_CASE("a push under way ends before its team is found again: nothing is handed over twice") {
  Teams served;
  const auto file = served.world.scratch.path("chat");
  const auto slowly = with(served.world.config, [&](config::TeamConfig& config) {
    // clock: a program that takes its time; however long that is, the reload waits for it
    config.delivery.exec.argv = {"/bin/sh", "-c", "sleep 1; cat >>" + file.string()};
  });
  served.loop.reload({slowly});
  served.adopted();
  served.world.write_lead({World::entry("w1", "good morning")});
  REQUIRE(served.until([&] { return served.world.logged("delivery.offered"); }));
  const auto before = served.adopted();
  served.loop.reload({with(slowly, [](config::TeamConfig& config) { config.team.lead = "team-lead"; })});
  REQUIRE(served.until([&] { return served.team() != nullptr && served.team() != before.get(); }));
  CHECK(contains(slurp(file), "good morning"));
  served.looked();
  CHECK(served.times_logged("delivery.offered") == 1);
  CHECK(served.times_logged("delivery.delivered") == 1);
}

TEST_CASE("a team that vanished is let go, and is a new one when it appears again") {
  Teams served;
  const auto before = served.adopted();
  const auto roster = served.world.scratch.path("teams/t/config.json");
  fs::remove(roster);
  REQUIRE(served.until([&] { return served.team() == nullptr; }));
  CHECK(before->retired());
  CHECK(served.times_logged("roster.vanished") == 1);
  spill(roster, kRoster);
  REQUIRE(served.until([&] { return served.team() != nullptr; }));
  CHECK(served.team() != before.get());
  CHECK(served.answers("perm-1", "git status"));
}

TEST_CASE("a folder without a roster is no team yet, whatever its name") {
  Teams served([](config::TeamConfig& config) { config.team.name = "*"; });
  fs::create_directories(served.world.scratch.path("teams/ghost/inboxes"));
  served.adopted();
  served.looked();
  CHECK(served.loop.teams().size() == 1);
  spill(served.world.scratch.path("teams/ghost/config.json"), kRoster);
  CHECK(served.until([&] { return served.team("ghost") != nullptr; }));
}

TEST_CASE("a folder that cannot be a team's is told of once while it is there, and again when it comes back") {
  Teams served([](config::TeamConfig& config) { config.team.name = "*"; });
  served.adopted();
  const auto odd = served.world.scratch.path("teams/no.team");
  const auto told = [&] { return served.times_logged("no.team"); };
  fs::create_directories(odd);
  REQUIRE(served.until([&] { return told() == 1; }));
  served.looked();
  CHECK(told() == 1);
  fs::remove(odd);
  served.looked();
  fs::create_directories(odd);
  CHECK(served.until([&] { return told() == 2; }));
}

TEST_CASE("a team whose name old clients do not find again is served, with a word about it") {
  Teams served([](config::TeamConfig& config) { config.team.name = "*"; });
  fs::create_directories(served.world.scratch.path("teams/Rig_Upper/inboxes"));
  spill(served.world.scratch.path("teams/Rig_Upper/config.json"), kRoster);
  REQUIRE(served.until([&] { return served.team("Rig_Upper") != nullptr && served.team() != nullptr; }));
  CHECK(served.times_logged("old clients") == 1);
  CHECK(contains(served.world.log(), R"("event":"daemon.warning","team":"Rig_Upper")"));
}

}  // namespace
}  // namespace inbox_poller::test::poll_loop_test

// The program that tells a person: run once for each request and once for its end, whatever happens in between.
#include "poller/team/notifier.hpp"

#include <csignal>

#include "tests/support/contains.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::notifier_test {

using namespace inbox_poller::poller;
using handlers::RequestEvent;
using test::Contains;
using test::World;
namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

struct Telling : World {
  fs::path told = scratch.path("told");
  bool leaving = false;
  fs::path broken = scratch.path("broken");  // while it is there the program fails

  Telling() {
    std::signal(SIGPIPE, SIG_IGN);  // as the daemon does: a program may end without having read
    config.approver.command = {"/bin/sh", "-c",
                            "test -e " + broken.string() +
                                " && { echo no bell >&2; exit 3; }; { echo \"$INBOX_POLLER_TEAM\"; cat; } >> " +
                                told.string()};
    restart();
  }

  /// Everything that is due, up to a failure.
  void jobs() {
    for (bool more = true; more;) more = run(team->jobs([this] { return leaving; }));
  }
  void opens(const std::string& id = "perm-1") {
    write_lead({entry("w1", request(id, "make install"))});
    poll();
  }
  void approves(const std::string& id = "perm-1") {
    const auto request = *ledger->requests().find("t", {handlers::RequestKind::permission, "w1", id});
    handlers::Answer answer;
    answer.event = RequestEvent::person_approves;
    answer.by = "ann";
    REQUIRE(std::holds_alternative<Requests::Applied>(team->requests().answer(*request, answer, false)));
  }
  [[nodiscard]] std::vector<json::object> heard() const {
    std::vector<json::object> all;
    if (!fs::exists(told)) return all;
    std::istringstream lines(test::slurp(told));
    std::string team_name, line;
    while (std::getline(lines, team_name) && std::getline(lines, line)) {
      CHECK(team_name == "t");
      all.push_back(json::parse(line).as_object());
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> names;
    for (const auto& one : heard()) names.push_back(json::value_to<std::string>(one.at("event")));
    return names;
  }
  [[nodiscard]] std::size_t log_count(const std::string& event) const {
    const auto text = log();
    std::size_t count = 0;
    for (auto at = text.find('"' + event + '"'); at != std::string::npos; at = text.find('"' + event + '"', at + 1))
      ++count;
    return count;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a person is told of a request with all that pending shows, and of its end") {
  Telling world;
  world.opens();
  world.jobs();
  world.approves();
  world.jobs();
  const auto heard = world.heard();
  REQUIRE(heard.size() == 2);
  CHECK(heard[0].at("event") == "asked");
  CHECK(heard[0].at("team") == "t");
  CHECK(heard[0].at("kind") == "permission");
  CHECK(heard[0].at("request_id") == "perm-1");
  CHECK(heard[0].at("member") == "w1");
  CHECK(heard[0].at("subject") == "Bash: make install");
  CHECK(heard[0].at("body") == R"({"command":"make install"})");
  CHECK(heard[0].at("state") == "pending");
  CHECK(heard[1].at("event") == "decided");
  CHECK(heard[1].at("state") == "approved");
  CHECK(heard[1].at("decided_by") == "ann");
  CHECK(world.log_count("approver.notified") == 2);
}

TEST_CASE("nothing is told twice, wherever a restart comes in between, and nothing is left out") {
  for (int moment = 0; moment < 5; ++moment) {
    INFO(moment);
    Telling world;
    const auto maybe_restart = [&](int here) {
      if (moment == here) world.restart();
      world.poll();
    };
    world.opens();
    maybe_restart(1);
    world.jobs();
    maybe_restart(2);
    world.jobs();
    world.approves();
    maybe_restart(3);
    world.jobs();
    maybe_restart(4);
    world.jobs();
    CHECK(world.events() == Names{"asked", "decided"});
  }
}

TEST_CASE("a request that was decided before its turn came is nobody's business any more") {
  Telling world;
  world.opens();
  world.approves();
  world.jobs();
  CHECK(world.events().empty());
  world.restart();
  world.jobs();
  CHECK(world.events().empty());
}

TEST_CASE("a program that fails is tried three times, with pauses, and its failure is told once") {
  Telling world;
  test::spill(world.broken, "");
  world.opens();
  for (int i = 0; i < 3; ++i) {
    world.jobs();
    CHECK(world.log_count("approver.notify_failed") == (i == 2 ? 1 : 0));
    world.jobs();  // too early
    world.clock.advance(1min);
  }
  world.jobs();
  CHECK(world.log_count("approver.notify_failed") == 1);
  CHECK_THAT(world.log(), Contains("ended with exit code 3: no bell"));
  fs::remove(world.broken);
  world.approves();
  world.jobs();
  CHECK(world.events().empty());  // who was never asked needs no end
}

TEST_CASE("a program that works again in time is told of everything, in order") {
  Telling world;
  test::spill(world.broken, "");
  world.opens("perm-1");
  world.jobs();
  world.write_lead({World::entry("w1", World::request("perm-1", "make install")),
                    World::entry("w1", World::request("perm-2", "make clean"), 2)});
  world.poll();
  fs::remove(world.broken);
  world.jobs();
  CHECK(world.events().empty());  // not before the pause is over
  world.clock.advance(1min);
  world.jobs();
  const auto heard = world.heard();
  REQUIRE(heard.size() == 2);
  CHECK(heard[0].at("request_id") == "perm-1");
  CHECK(heard[1].at("request_id") == "perm-2");
}

TEST_CASE("a program that hangs is ended, and counts as one that failed") {
  Telling world;
  world.config.approver.command = {"/bin/sleep", "600"};
  world.config.approver.command_timeout = 50ms;
  world.restart();
  world.opens();
  for (int i = 0; i < 3; ++i) {
    world.jobs();
    world.poll();
    world.clock.advance(1min);
  }
  CHECK(world.log_count("approver.notify_failed") == 1);
  CHECK_THAT(world.log(), Contains("took longer than 50 ms and was ended"));
}

TEST_CASE("whoever leaves does not wait for the program, and tells again after the next start") {
  Telling world;
  const auto bell = world.config.approver.command;
  world.config.approver.command = {"/bin/sleep", "600"};
  world.restart();
  world.opens();
  world.leaving = true;
  world.jobs();
  CHECK(world.log_count("approver.notify_failed") == 0);
  world.leaving = false;
  world.config.approver.command = bell;
  world.restart();
  world.poll();
  world.jobs();
  CHECK(world.events() == Names{"asked"});
}

TEST_CASE("a program that is not there changes nothing but the log") {
  Telling world;
  world.config.approver.command = {"/nonexistent/bell"};
  world.restart();
  world.opens();
  for (int i = 0; i < 3; ++i) {
    world.jobs();
    world.clock.advance(1min);
  }
  CHECK(world.log_count("approver.notify_failed") == 1);
  CHECK(world.team->requests().open().size() == 1);
}

TEST_CASE("with approver = lead no person is told, but always of the lead's own prompts") {
  Telling world;
  world.config.permissions.approver = config::Answerer::lead;
  world.restart();
  world.opens();
  handlers::Request request;
  request.request_id = "lead-1";
  request.asker = "team-lead";
  request.subject = "Bash";
  request.body = "{}";
  request.state = handlers::RequestState::pending;
  request.asked_ms = world.clock.wall_ms();
  request.deadline_ms = request.asked_ms + 60'000;
  REQUIRE(world.ledger->requests().put("t", request));
  world.team->requests().opened(request);
  world.poll();
  world.jobs();
  const auto heard = world.heard();
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].at("request_id") == "lead-1");
}

TEST_CASE("a program that a reload takes away is run no more") {
  Telling world;
  world.opens();
  world.config.approver.command.clear();
  world.team->reconfigure(world.config);
  world.jobs();
  CHECK(world.events().empty());
}

TEST_CASE("no more than a thousand wait to be told, and that is said once") {
  Telling world;
  Notifier notifier(world.team->context());
  handlers::Request request;
  for (int i = 0; i < 1000; ++i) REQUIRE(notifier.asked(request));
  CHECK_FALSE(notifier.asked(request));
  CHECK_FALSE(notifier.asked(request));
  CHECK(world.log_count("daemon.warning") == 1);
}

}  // namespace inbox_poller::notifier_test

// Commands that go on: the wait of `shutdown` and the watch of `status`.
#include <pthread.h>

#include <csignal>
#include <thread>

#include "poller/cli/command.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::cli_waiting_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
namespace json = boost::json;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

json::object shutdown(const std::string& state, bool open, const std::string& member = "ann") {
  return {
      {"team", "demo"}, {"request_id", "shutdown-1@" + member}, {"member", member}, {"state", state}, {"open", open}};
}

json::object list(json::object one) { return {{"shutdowns", json::array{std::move(one)}}}; }

/// Runs `shutdown ann --wait`, while the daemon moves from state to state whenever it was asked.
Outcome waited(const std::vector<std::pair<std::string, bool>>& states, std::vector<std::string> words) {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("shutdown", list(shutdown("requested", true)));
  daemon.prepare("shutdowns", list(shutdown(states[0].first, states[0].second)));
  std::atomic<bool> ended = false;
  std::thread mover([&] {
    std::size_t asked = 0;
    for (const auto& [state, open] : states) {
      daemon.prepare("shutdowns", list(shutdown(state, open)));
      eventually([&] { return ended || daemon.requests().size() > asked + 2; });
      asked = daemon.requests().size();
    }
  });
  words.insert(words.end(), {"--socket", dir / "s"});
  const Outcome outcome = run_cli(dir, words);
  ended = true;
  mover.join();
  return outcome;
}

}  // namespace

TEST_CASE("shutdown --wait shows each step once and ends with 0 when all is cleaned up") {
  const Outcome outcome =
      waited({{"requested", true}, {"approved", true}, {"cleaned", false}}, {"shutdown", "ann", "--wait"});
  CHECK(outcome.code == 0);
  CHECK(times(outcome.out, "is requested") == 1);
  CHECK(times(outcome.out, "is approved") == 1);
  CHECK(times(outcome.out, "is done") == 1);
  CHECK(outcome.err.empty());
}

TEST_CASE("shutdown --wait ends with 1 when the worker refused or the daemon gave up") {
  CHECK(waited({{"rejected", false}}, {"shutdown", "ann", "--wait"}).code == 1);
  CHECK(waited({{"timed_out", false}}, {"shutdown", "ann", "--wait"}).code == 1);
}

TEST_CASE("shutdown --wait ends with 5 when its own time is over, and says that the rest goes on") {
  const Outcome outcome = waited({{"requested", true}}, {"shutdown", "ann", "--wait=300ms"});
  CHECK(outcome.code == 5);
  CHECK(has(outcome.err, "it goes on without you"));
}

TEST_CASE("with --json a wait prints one object at the end, with the states as they then are") {
  const Outcome outcome = waited({{"approved", true}, {"cleaned", false}}, {"--json", "shutdown", "ann", "--wait"});
  CHECK(outcome.code == 0);
  CHECK(json::parse(outcome.out).at("shutdowns").at(0).at("state") == "cleaned");
}

TEST_CASE("shutdown --all that could not ask everybody says whom, and ends with 1") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  json::object answer = list(shutdown("requested", true));
  answer["refused"] =
      json::array{json::object{{"member", "bob"}, {"code", "shutdown.open"}, {"message", "is asked already"}}};
  daemon.prepare("shutdown", answer);
  const Outcome outcome = run_cli(dir, {"shutdown", "--all", "--socket", dir / "s"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.out, "ann: the shutdown is requested"));
  CHECK(outcome.err == "inbox-poller: bob: is asked already\n");
}

TEST_CASE("status --watch writes a block for each change, not for each look, and Ctrl-C ends it with 0") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  const auto team = [](const std::string& role, int acquired) {
    return json::object{
        {"teams", json::array{json::object{{"team", "demo"}, {"role", role}, {"locks", {{"acquired", acquired}}}}}}};
  };
  daemon.prepare("status", team("leader", 1));
  const pthread_t watcher = ::pthread_self();
  std::thread mover([&] {
    CHECK(eventually([&] { return daemon.requests().size() >= 2; }));
    daemon.prepare("status", team("leader", 2));  // only a lock was taken
    auto asked = daemon.requests().size();
    CHECK(eventually([&] { return daemon.requests().size() >= asked + 2; }));
    daemon.prepare("status", team("paused", 3));
    asked = daemon.requests().size();
    CHECK(eventually([&] { return daemon.requests().size() >= asked + 2; }));
    ::pthread_kill(watcher, SIGINT);
  });
  const Outcome outcome = run_cli(dir, {"status", "--watch=100ms", "--socket", dir / "s"});
  mover.join();
  CHECK(outcome.code == 0);
  CHECK(times(outcome.out, "team demo") == 2);
  CHECK(times(outcome.out, "paused") == 1);
  CHECK_FALSE(has(outcome.out, "\x1b"));
}

}  // namespace inbox_poller::cli_waiting_test

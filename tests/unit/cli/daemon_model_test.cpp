// What a command that stays knows of the daemon (poller/cli/daemon_model.hpp).
#include "poller/cli/daemon_model.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::daemon_model_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
using cli::DaemonModel;
using cli::Part;
namespace json = boost::json;

namespace {

struct Looking {
  TempDir dir;
  boost::asio::io_context loop;
  std::vector<Part> came;  // since it was cleared
  int looks = 0;
  DaemonModel model{loop,
                    {.where = [this] { return Result<std::string>(dir / "s"); }, .look_every = std::chrono::hours(1)},
                    [this](const auto& fresh) { return changed(fresh); }};

  boost::asio::awaitable<void> changed(const std::vector<Part>& fresh) {
    ++looks;
    came.insert(came.end(), fresh.begin(), fresh.end());
    co_return;
  }
  template <class Condition>
  bool until(Condition holds) {
    return eventually([&] {
      loop.run_for(std::chrono::milliseconds(2));  // clock: until the condition is checked again
      return holds();
    });
  }
  bool until_came(Part part) {
    return until([&] { return std::ranges::find(came, part) != came.end(); });
  }
};

void prepare(FakeDaemon& daemon, long long version, json::array changed) {
  daemon.prepare("changes", {{"version", version}, {"changed", std::move(changed)}});
}

std::size_t times(const FakeDaemon& daemon, std::string_view verb) {
  const auto requests = daemon.requests();
  return static_cast<std::size_t>(std::ranges::count_if(requests, [&](const auto& one) { return one.at("verb").as_string() == verb; }));
}

}  // namespace

TEST_CASE("daemon model: what is kept is asked for at once, and again when its area has changed") {
  Looking looking;
  FakeDaemon daemon(looking.dir / "s");
  prepare(daemon, 1, {});
  daemon.prepare("pending", {{"requests", json::array{json::object{{"request_id", "perm-1"}}}}});
  daemon.prepare("history", {{"messages", json::array{}}});
  looking.model.watch({Part::requests, Part::chat});
  looking.model.start();
  REQUIRE(looking.until_came(Part::chat));
  CHECK_FALSE(looking.model.away());
  REQUIRE(looking.model.known().requests.requests.size() == 1);
  CHECK(looking.model.known().requests.requests[0].request_id == "perm-1");

  const auto before = times(daemon, "pending");
  looking.came.clear();
  prepare(daemon, 2, {"chat"});
  REQUIRE(looking.until_came(Part::chat));
  CHECK(times(daemon, "pending") == before);  // time alone, and chat, do not change them
  prepare(daemon, 3, {"requests"});
  CHECK(looking.until_came(Part::requests));
}

TEST_CASE("daemon model: any change and the time touch the status, and nothing is asked for that nobody watches") {
  Looking looking;
  FakeDaemon daemon(looking.dir / "s");
  prepare(daemon, 1, {});
  daemon.prepare("status", {{"version", "1"}, {"teams", json::array{}}});
  looking.model.watch({Part::status});
  looking.model.start();
  REQUIRE(looking.until_came(Part::status));
  looking.came.clear();
  prepare(daemon, 2, {"workers"});
  CHECK(looking.until_came(Part::status));
  CHECK(times(daemon, "pending") + times(daemon, "history") + times(daemon, "decisions") == 0);
}

TEST_CASE("daemon model: without a daemon it says why and keeps what it knew, and finds the next one") {
  Looking looking;
  looking.model.watch({Part::requests});
  looking.model.start();
  REQUIRE(looking.until([&] { return looking.looks > 0; }));
  REQUIRE(looking.model.away());
  CHECK(looking.model.away()->code == "control.no_daemon");
  {
    FakeDaemon daemon(looking.dir / "s");
    prepare(daemon, 1, {});
    daemon.prepare("pending", {{"requests", json::array{json::object{{"request_id", "perm-1"}}}}});
    REQUIRE(looking.until([&] { return !looking.model.away(); }));
  }
  REQUIRE(looking.until([&] { return looking.model.away().has_value(); }));
  CHECK(looking.model.known().requests.requests.size() == 1);
}

TEST_CASE("daemon model: a refusal is told as it is") {
  Looking looking;
  FakeDaemon daemon(looking.dir / "s");
  prepare(daemon, 1, {});
  daemon.prepare("pending", {{"code", "team.absent"}, {"message", "not there yet"}});
  looking.model.watch({Part::requests});
  looking.model.start();
  REQUIRE(looking.until([&] { return looking.looks > 0; }));
  REQUIRE(looking.model.away());
  CHECK(looking.model.away()->code == "team.absent");
}

}  // namespace inbox_poller::daemon_model_test

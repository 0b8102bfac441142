// One transaction for what several teams want at the same time: together on the disk, apart in failure.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

#include "poller/context/group_commit.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::test::group_commit_test {
namespace {

struct Group {
  World world;
  GroupCommit& commits = *world.commits;
  TeamState one{"one", world.config, "/home/u", *world.ledger, *world.telemetry, world.clock};
  TeamState two{"two", world.config, "/home/u", *world.ledger, *world.telemetry, world.clock};
  std::map<std::string, Status> ended;  // by team, in the order of commits
  std::vector<std::string> applied;

  static MemberRow member(const std::string& team) {
    MemberRow row;
    row.team = team;
    row.name = "w1";
    return row;
  }

  boost::asio::awaitable<void> put(TeamState& team, std::function<Status()> then) {
    Work work = [&](Tx& tx) {
      tx.keep(tx.ledger.members().put(member(team.name)));
      tx.then([&] { applied.push_back(team.name); });
      tx.keep(then());
    };
    auto status = co_await commits.commit(team, std::move(work));
    ended.emplace(team.name, std::move(status));
  }

  void start(
      TeamState& team, std::function<Status()> then = [] { return Status(Done{}); }, std::string* thrown = nullptr) {
    boost::asio::co_spawn(world.context, put(team, std::move(then)), [thrown](std::exception_ptr problem) {
      if (!problem) return;
      try {
        std::rethrow_exception(problem);
      } catch (const std::exception& found) {
        if (thrown != nullptr) *thrown = found.what();
      }
    });
  }

  void run() {
    world.context.restart();
    world.context.run();
  }

  bool has(const std::string& team) { return world.ledger->members().of_team(team)->size() == 1; }
};

}  // namespace

TEST_CASE("what two teams want at the same time is one transaction, and what one wants later is another") {
  Group group;
  group.start(group.one);
  group.start(group.two);
  group.run();
  CHECK(group.commits.transactions() == 1);
  CHECK(group.applied == std::vector<std::string>{"one", "two"});
  CHECK((group.has("one") && group.has("two")));
  group.start(group.one);
  group.run();
  CHECK(group.commits.transactions() == 2);
}

TEST_CASE("a team whose part fails undoes only that: the others are committed, and it is told") {
  Group group;
  group.start(group.one, [] { return Status(Error{"ledger.final", "decided before"}); });
  group.start(group.two);
  group.run();
  REQUIRE_FALSE(group.ended.at("one"));
  CHECK(group.ended.at("one").error().code == "ledger.final");
  CHECK_FALSE(group.has("one"));
  CHECK(group.one.ledger_fault() == "decided before");
  CHECK(group.ended.at("two"));
  CHECK(group.has("two"));
  CHECK(group.applied == std::vector<std::string>{"two"});
}

TEST_CASE("an exception in one part reaches everybody who waits, and nothing of it is committed") {
  Group group;
  std::string thrown;
  group.start(
      group.one, [] { return Status(Done{}); }, &thrown);
  group.start(group.two, []() -> Status { throw std::runtime_error("no memory"); });
  group.run();
  CHECK(thrown == "no memory");
  CHECK_FALSE(group.has("one"));
  CHECK_FALSE(group.has("two"));
}

}  // namespace inbox_poller::test::group_commit_test

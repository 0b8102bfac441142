// What has changed since a version, and who hears of it; then the verb that waits for it, against a team that is served.
#include "poller/changes.hpp"

#include "poller/control/verbs.hpp"
#include "tests/unit/poller/control/served_world.hpp"

namespace inbox_poller::test::changes_test {
namespace {

constexpr Areas requests = only(Area::requests), chat = only(Area::chat);

struct Watching : Served {
  Verbs verbs{loop, *world.services, "/ledger", [] { return ReloadReport{}; }};
  std::shared_ptr<ControlSession> session = std::make_shared<ControlSession>();
  std::optional<json::object> answer;

  Watching() {
    REQUIRE(until([this] { return team() != nullptr && team()->inbox_report().state != "not polled yet"; }));
    looked(1);  // what follows its first look
  }
  void begin(json::object fields) {
    fields["verb"] = "changes";
    answer.reset();
    boost::asio::co_spawn(world.context, verbs.handle(std::move(fields), session),
                          [this](std::exception_ptr, json::object value) { answer = std::move(value); });
  }
  json::object ask(json::object fields) {
    begin(std::move(fields));
    REQUIRE(until([this] { return answer.has_value(); }));
    return *answer;
  }
  /// What the waiting client is told.
  std::vector<std::string> told() {
    REQUIRE(until([this] { return answer.has_value(); }));
    return json::value_to<std::vector<std::string>>(answer->at("changed"));
  }
  long long version() { return ask({}).at("version").as_int64(); }
};

}  // namespace

TEST_CASE("what has changed is told since a version that is ours, and everything since any other") {
  Changes changes(1'700'000'000'000);
  const auto first = changes.version();
  CHECK(changes.since(first) == 0);
  changes.raise(requests);
  const auto second = changes.version();
  CHECK(second > first);
  changes.raise(chat);
  CHECK(changes.since(first) == (requests | chat));
  CHECK(changes.since(second) == chat);
  CHECK(changes.since(changes.version()) == 0);
  changes.raise(0);
  CHECK(changes.since(changes.version()) == 0);
  for (const Changes::Version foreign : {Changes::Version{0}, first - 1, changes.version() + 1, Changes::Version{-5}})
    CHECK(changes.since(foreign) == all_areas);
  CHECK(changes.version() < (Changes::Version{1} << 53));  // a whole number for everybody
  const Changes successor(1'700'000'000'001);  // a daemon that was started a millisecond later
  CHECK(successor.since(changes.version()) == all_areas);
}

TEST_CASE("who listens hears each change, and nothing after he left") {
  Changes changes(1);
  Signal signal;
  {
    const Changes::Listener listener(changes, signal);
    changes.raise(requests);
    changes.raise(chat);
    CHECK(signal.count() == 2);
    CHECK(changes.listeners() == 1);
  }
  changes.raise(requests);
  CHECK(signal.count() == 2);
  CHECK(changes.listeners() == 0);
}

TEST_CASE("a commit tells the sorts of its rows, one that is rolled back or only reads tells nothing") {
  World world;
  auto& changes = world.services->changes;
  const auto before = changes.version();
  MemberRow row;
  row.team = "t";
  row.name = "w9";
  CHECK_FALSE(world.ledger->transaction([&]() -> Status {
    REQUIRE(world.ledger->members().put(row));
    return Error{"test", "no"};
  }));
  CHECK(world.ledger->transaction([&]() -> Status { return Done{}; }));
  CHECK(changes.version() == before);
  CHECK(world.ledger->transaction([&] { return world.ledger->members().put(row); }));
  CHECK(changes.since(before) == only(Area::workers));
}

TEST_CASE("changes answers at once what was missed, and waits where nothing was") {
  Watching watching;
  const auto first = watching.ask({});
  CHECK(first.at("changed").as_array().size() == 5);  // since nothing: everything
  const auto version = first.at("version").as_int64();
  const json::array chat_only{"chat"};  // what else follows a start (the roster is kept) may come when it will
  const auto none = watching.ask({{"since", version}, {"of", chat_only}});
  CHECK(none.at("changed").as_array().empty());
  CHECK(none.at("version").as_int64() >= version);

  watching.begin({{"since", version}, {"wait_ms", 60'000}, {"of", chat_only}});
  watching.looked(1);
  REQUIRE_FALSE(watching.answer);
  watching.world.write_lead({World::entry("w1", "hello", 1)});
  CHECK(watching.told() == std::vector<std::string>{"chat"});
  CHECK(watching.answer->at("version").as_int64() > version);
  // A version of a daemon that has gone.
  CHECK(watching.ask({{"since", version - 1'000'000'000}, {"wait_ms", 60'000}}).at("changed").as_array().size() == 5);
}

TEST_CASE("changes waits only for the areas that are wanted, and no longer than its client") {
  Watching watching;
  const auto version = watching.version();
  watching.begin({{"since", version}, {"wait_ms", 60'000}, {"of", {"requests"}}});
  watching.world.write_lead({World::entry("w1", "hello", 1)});
  REQUIRE(watching.until([&] { return watching.world.ledger->deliveries().counts("t")->queued == 1; }));
  watching.looked(1);
  CHECK_FALSE(watching.answer);
  watching.session->close();
  REQUIRE(watching.until([&] { return watching.answer.has_value(); }));
  CHECK(watching.answer->at("code") == "control.closed");
  CHECK(watching.world.services->changes.listeners() == 0);

  watching.session = std::make_shared<ControlSession>();
  for (const json::value& of : {json::array{"tea"}, json::array{"requests", "tea"}, json::array{7}})
    CHECK(watching.ask({{"of", of}}).at("code") == "request.invalid");
}

TEST_CASE("a hundred wait for changes, and the next one is told to come later") {
  Watching watching;
  std::vector<std::unique_ptr<Changes::Listener>> others;
  Signal signal;
  for (int i = 0; i < 100; ++i)
    others.push_back(std::make_unique<Changes::Listener>(watching.world.services->changes, signal));
  CHECK(watching.ask({}).at("code") == "control.busy");
  others.pop_back();
  CHECK(watching.ask({}).at("ok") == true);
}

}  // namespace inbox_poller::test::changes_test

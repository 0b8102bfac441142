// The delivery with a clock that moves when told to: expiry, digests, what is given back.
#include "poller/delivery/delivery.hpp"

#include <sqlite3.h>

#include "poller/delivery/pending_fetch.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::delivery_test {

using namespace inbox_poller::test;

namespace asio = boost::asio;

namespace {

DeliveryState state_of(World& world, const LeasedMessage& message) {
  return (*world.ledger->messages().find(message.key))->delivery;
}

std::vector<std::string> texts(const std::vector<LeasedMessage>& messages) {
  std::vector<std::string> texts;
  for (const auto& message : messages) texts.push_back(message.text);
  return texts;
}

asio::awaitable<bool> push_all(Delivery& delivery) {
  co_await delivery.push();
  co_return true;
}

/// A pane whose program submits what was pasted, and whose hook tells so before tmux has answered.
class EagerPane final : public Panes {
 public:
  std::function<void(const std::string&)> submitted;

  asio::awaitable<Result<std::optional<Pane>>> find(std::string) override { co_return std::optional(seen_.pane); }
  asio::awaitable<Result<std::vector<Pane>>> list() override { co_return std::vector<Pane>{}; }
  asio::awaitable<Status> close(Pane) override { co_return Done{}; }
  asio::awaitable<Result<std::optional<Front>>> front(std::string) override {
    auto seen = seen_;
    const std::string rule = "\u2500\u2500\u2500\u2500\n";
    const std::string sign =
        "[Pasted text #1 +" + std::to_string(std::count(text_.begin(), text_.end(), '\n')) + " lines]";
    seen.screen = {rule + "\u276f\u00a0" + (text_.empty() ? "" : sign) + "\x1b[7m \x1b[0m\n" + rule, 4, 2, 1};
    co_return std::optional(seen);
  }
  asio::awaitable<Typed> paste(Front, std::string, std::string text) override {
    text_ = std::move(text);
    co_return Typed{};
  }
  asio::awaitable<Typed> press(Front, Key key) override {
    REQUIRE(key == Key::enter);
    submitted(std::exchange(text_, {}));
    co_return Typed{};
  }

 private:
  static Front claude() {
    Front front;
    front.pane = {"%1", {1, "a"}, {2, "b"}, false};
    front.command = "claude";
    return front;
  }

  const Front seen_ = claude();
  std::string text_;
};

void pastes_whole_texts(config::TeamConfig& config) {
  config.delivery.methods = {config::DeliveryMethod::tmux};
  config.delivery.tmux.payload = true;
  config.delivery.tmux.settle = std::chrono::milliseconds(0);
}

const LeadSession session_in_a_pane{"s", "%1"};

}  // namespace

TEST_CASE("a hook that tells of a pasted prompt before tmux has answered confirms it all the same") {
  World world(pastes_whole_texts);
  EagerPane pane;
  Delivery delivery(world.team->context(), world.files, pane);
  REQUIRE(delivery.lead().report(LeadEvent::session_starts, std::nullopt, &session_in_a_pane));
  pane.submitted = [&](const std::string& text) {
    REQUIRE(delivery.lead().report(LeadEvent::prompt_submitted));
    delivery.prompt_seen(text);
  };
  world.write_lead({World::entry("w1", "hello\tlead")});
  world.poll();
  REQUIRE(world.run(push_all(delivery)));
  const auto counts = *world.ledger->deliveries().counts("t");
  CHECK(counts.delivered == 1);
  CHECK(counts.assumed == 0);
  world.clock.advance(world.config.delivery.assume_busy_for + std::chrono::seconds(1));
  delivery.run_due();
  CHECK(world.ledger->deliveries().counts("t")->queued == 0);
}

TEST_CASE("a text that no hook confirms is pasted three times, and is assumed then") {
  World world(pastes_whole_texts);
  EagerPane pane;
  Delivery delivery(world.team->context(), world.files, pane);
  REQUIRE(delivery.lead().report(LeadEvent::session_starts, std::nullopt, &session_in_a_pane));
  int pastes = 0;
  pane.submitted = [&](const std::string&) { ++pastes; };
  world.write_lead({World::entry("w1", "hello")});
  world.poll();
  for (int i = 0; i < 5; ++i) {
    REQUIRE(world.run(push_all(delivery)));
    CHECK(world.ledger->deliveries().counts("t")->delivered == (i < 2 ? 0 : 1));
    world.clock.advance(world.config.delivery.assume_busy_for + std::chrono::seconds(1));
    delivery.run_due();
  }
  CHECK(pastes == 3);
  CHECK(world.ledger->deliveries().counts("t")->assumed == 1);
}

TEST_CASE(
    "newer chat waits for what a hook of the same sender printed to wake the session, until that is delivered or comes "
    "back") {
  World world;
  const bool delivered = GENERATE(false, true);
  auto& delivery = world.team->delivery();
  world.write_lead({World::entry("w1", "wakes", 1)});
  world.poll();
  HookOffer offer;
  offer.hook = handlers::OfferingHook::wait;
  offer.session = "s";
  offer.messages = world.receive();
  REQUIRE(texts(offer.messages) == std::vector<std::string>{"wakes"});
  const auto woken = offer.messages;
  delivery.printed(std::move(offer));
  world.write_lead(
      {World::entry("w1", "wakes", 1), World::entry("w1", "later", 2), World::entry("w2", "of another", 3)});
  world.poll();
  CHECK(texts(world.receive()) == std::vector<std::string>{"of another"});
  if (delivered)
    REQUIRE(delivery.acknowledge({woken.front().key.value}));
  else
    delivery.requeue(woken, "the turn ended without it");
  CHECK(texts(world.receive()) ==
        (delivered ? std::vector<std::string>{"later"} : std::vector<std::string>{"wakes", "later"}));
}

TEST_CASE("what was not delivered within delivery.expire_after is given up, and what is handed out is not") {
  World world([](config::TeamConfig& config) { config.delivery.expire_after = std::chrono::minutes(10); });
  world.write_lead({World::entry("w1", "handed out", 1)});
  world.poll();
  const auto leased = world.receive();
  REQUIRE(texts(leased) == std::vector<std::string>{"handed out"});
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_busy, std::chrono::hours(1)));
  world.write_lead({World::entry("w1", "handed out", 1), World::entry("w1", "waits", 2)});
  world.poll();
  world.clock.advance(std::chrono::minutes(10) - std::chrono::seconds(1));
  world.poll();
  CHECK_FALSE(world.logged("delivery.expired"));
  world.clock.advance(std::chrono::seconds(1));
  world.poll();
  CHECK(world.ledger->deliveries().counts("t")->expired == 1);
  CHECK(world.logged("delivery.expired"));
  CHECK(state_of(world, leased[0]) == DeliveryState::offered);
  world.team->delivery().requeue(leased);
  CHECK(state_of(world, leased[0]) == DeliveryState::queued);
  world.poll();
  CHECK(state_of(world, leased[0]) == DeliveryState::expired);
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_idle));
  CHECK(world.receive().empty());
}

TEST_CASE("what was taken is noted with what is offered instead, and stays noted where that cannot be read") {
  World world;
  world.write_lead({World::entry("w1", "first", 1), World::entry("w1", "second", 2)});
  world.poll();
  FetchOptions one = World::by_hand();
  one.max = 1;
  auto& delivery = world.team->delivery();
  const auto first = *delivery.offer(one);
  REQUIRE(texts(first) == std::vector<std::string>{"first"});
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "UPDATE messages SET checksum = checksum + 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto unreadable = delivery.offer(one, {first[0].key.value});
  REQUIRE(sqlite3_exec(other, "UPDATE messages SET checksum = checksum - 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  CHECK_FALSE(unreadable);
  CHECK(state_of(world, first[0]) == DeliveryState::delivered);
  CHECK_FALSE(delivery.leases().has(first[0].id));
  CHECK(world.logged("delivery.delivered"));

  const auto second = *delivery.offer(one, {first[0].key.value});  // said once more: nothing is delivered twice
  REQUIRE(texts(second) == std::vector<std::string>{"second"});
  CHECK(second[0].attempts == 1);
  CHECK(delivery.offer(one, {second[0].key.value})->empty());
  CHECK(world.ledger->deliveries().counts("t")->delivered == 2);
  CHECK(world.ledger->deliveries().counts("t")->offered == 0);
}

TEST_CASE("a lead that has gone gets nothing, however long it waited and however urgent it is") {
  World world([](config::TeamConfig& config) {
    config.delivery.max_delay = std::chrono::seconds(1);
    config.delivery.urgent_max_delay = std::chrono::seconds(0);
    config.delivery.urgent = {"w2"};
  });
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_offline));
  world.write_lead({World::entry("w1", "chat", 1), World::entry("w2", "urgent", 2)});
  world.poll();
  world.clock.advance(std::chrono::hours(1));
  CHECK(world.receive().empty());
  REQUIRE(world.team->delivery().lead().report(LeadEvent::reports_busy));
  CHECK(texts(world.receive()) == std::vector<std::string>{"urgent", "chat"});
}

TEST_CASE("what cannot be given back because its row cannot be read comes back when it can, and newer chat waits for it") {
  World world;
  world.write_lead({World::entry("w1", "precious")});
  world.poll();
  const auto leased = world.receive();
  REQUIRE(leased.size() == 1);
  world.write_lead({World::entry("w1", "newer", 2)});
  world.poll();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(world.scratch.path("ledger.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "UPDATE messages SET checksum = checksum + 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  world.team->delivery().requeue(leased);
  REQUIRE(sqlite3_exec(other, "UPDATE messages SET checksum = checksum - 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  CHECK(state_of(world, leased[0]) == DeliveryState::offered);
  CHECK(world.receive().empty());
  SECTION("and no longer than ten minutes") {
    world.clock.advance(std::chrono::minutes(11));
    CHECK(texts(world.receive()) == std::vector<std::string>{"newer"});
    return;
  }
  world.poll();
  const auto again = world.receive();
  REQUIRE(texts(again) == std::vector<std::string>{"precious", "newer"});
  CHECK(again[0].key == leased[0].key);
  CHECK(again[0].attempts == 2);
}

TEST_CASE("what arrives is lent by the commit that accepts it, to the first who waits for it") {
  World world;
  Delivery& delivery = world.team->delivery();
  PendingFetch first(delivery, World::by_hand()), second(delivery, World::by_hand());
  world.write_lead({World::entry("w1", "one"), World::entry("w1", "two")});
  const auto before = world.services->commits.transactions();
  world.poll();
  CHECK(world.services->commits.transactions() == before + 1);
  CHECK(second.fetch().empty());
  const auto leased = first.fetch();
  CHECK(texts(leased) == std::vector<std::string>{"one", "two"});
  for (const auto& message : leased) {
    CHECK(delivery.leases().has(message.id));
    CHECK(message.attempts == 1);
    CHECK(state_of(world, message) == DeliveryState::offered);
  }
  CHECK(first.fetch().empty());

  // Who has not fetched yet is lent nothing further.
  world.write_lead({World::entry("w1", "three")});
  world.poll();
  world.write_lead({World::entry("w1", "four")});
  world.poll();
  CHECK(texts(first.fetch()) == std::vector<std::string>{"three"});
  CHECK(texts(second.fetch()) == std::vector<std::string>{"four"});
}

TEST_CASE("nobody is lent what a closed gate holds, nor what another way is for") {
  World world;
  Delivery& delivery = world.team->delivery();
  REQUIRE(delivery.lead().report(LeadEvent::reports_busy));
  FetchOptions fetch = World::by_hand();
  SECTION("the lead is busy") { fetch.ignore_busy = false; }
  SECTION("another way is chosen") {
    fetch.by_hand = false;
    fetch.method = config::DeliveryMethod::stdin_stream;
    fetch.ignore_busy = true;
  }
  PendingFetch taker(delivery, fetch);
  world.write_lead({World::entry("w1", "one")});
  world.poll();
  CHECK(taker.fetch().empty());
  CHECK(world.ledger->deliveries().counts("t")->queued == 1);
}

TEST_CASE("what was lent by a commit that failed is lent by nobody") {
  World world;
  Delivery& delivery = world.team->delivery();
  PendingFetch taker(delivery, World::by_hand());
  world.write_lead({World::entry("w1", "one")});
  world.poll();
  const auto one = taker.fetch();
  REQUIRE(one.size() == 1);
  delivery.return_unseen(one, "it went away");
  REQUIRE_FALSE(world.team->context().commit([&](Tx& tx) -> Status {
    delivery.lease_on_arrival(tx);
    return Error{"test.failed", "the rest of it"};
  }));
  CHECK(taker.fetch().empty());
  CHECK_FALSE(delivery.leases().has(one.front().id));
  CHECK(state_of(world, one.front()) == DeliveryState::queued);
  REQUIRE(world.team->context().commit([&](Tx& tx) {
    delivery.lease_on_arrival(tx);
    CHECK(taker.fetch().empty());  // not before it is committed
  }));
  const auto again = taker.fetch();
  REQUIRE(texts(again) == std::vector<std::string>{"one"});
  CHECK(again.front().attempts == 1);  // nobody was shown it before
}

}  // namespace inbox_poller::delivery_test

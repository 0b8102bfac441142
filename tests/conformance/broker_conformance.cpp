// The way between nodes is the same over a Redis and in memory (poller/broker/broker.hpp): letters in each sender's
// order, once for each attempt; one decision a request; nothing for whoever does not lead any more. What is tested over the
// one in memory (hosts_test.cpp) is true of the real one as far as this goes.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <memory>

#include "tests/support/memory_broker.hpp"
#include "tests/unit/poller/broker/broker_setting.hpp"

namespace inbox_poller::broker_conformance {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// One engine, and the nodes of one team that reach it.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual Loop& loop() = 0;
  /// A process of this node.
  virtual std::unique_ptr<Broker> node(const std::string& name) = 0;
  /// So long that whoever leads does so no more.
  virtual void lease_ends() = 0;
  /// So long that what this node told of itself is forgotten.
  virtual void silence(const std::string& node) = 0;
  virtual void empty() = 0;
  /// The next call fails, with nothing done; not a receive.
  virtual void break_next_call() = 0;
};

class Memory final : public Engine {
 public:
  Loop& loop() override { return loop_; }
  std::unique_ptr<Broker> node(const std::string& name) override {
    return std::make_unique<MemoryBroker>(broker_, name);
  }
  void lease_ends() override { broker_.advance(seconds(10)); }
  void silence(const std::string&) override { broker_.advance(seconds(15)); }
  void empty() override { broker_.empty(); }
  void break_next_call() override { broker_.broken_calls = 1; }

 private:
  Loop loop_;
  MemoryBrokerData broker_;
};

class Redis final : public Engine {
 public:
  Loop& loop() override { return nodes_; }
  std::unique_ptr<Broker> node(const std::string& name) override { return nodes_.node(name); }
  void lease_ends() override { nodes_.call({"DEL", nodes_.keys.of("leader")}); }
  void silence(const std::string& node) override { nodes_.call({"DEL", nodes_.keys.node(node)}); }
  void empty() override {
    for (const auto& key : nodes_.call({"KEYS", nodes_.keys.of("*")}).parts) nodes_.call({"DEL", key.text});
  }
  void break_next_call() override { nodes_.break_calls(); }

 private:
  RedisNodes nodes_;
};

bool is(const Result<std::vector<PutOutcome>>& put, const std::vector<PutOutcome::What>& wanted) {
  REQUIRE(put.ok());
  return std::ranges::equal(*put, wanted, {}, &PutOutcome::what);
}
using What = PutOutcome::What;
const std::string lead(lead_address);

void arrive_as_written(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2"), h3 = broker.node("h3");
  CHECK(is(loop.run(h1->put(frames(node_address("h2"), 1, 251), 0)), std::vector(250, What::appended)));
  std::vector<ReceivedFrame> arrived;
  CHECK(loop.entries(*h3, false).empty());
  REQUIRE(loop.entries(*h2, false, &arrived).size() == 250);
  for (int i = 0; i < 250; ++i) {
    const Frame sent = frame(node_address("h2"), i + 1);
    const ReceivedFrame& one = arrived[static_cast<std::size_t>(i)];
    REQUIRE(one.node == "h1");
    REQUIRE(std::tie(one.address, one.to, one.from, one.type, one.request, one.entry, one.key.value, one.number, one.after, one.at_ms) ==
            std::tie(sent.address, sent.to, sent.from, sent.type, sent.request, sent.entry, sent.key.value, sent.number, sent.after,
                     sent.at_ms));
  }
  REQUIRE(loop.run(h2->acknowledge(arrived)).ok());
  CHECK(loop.entries(*broker.node("h2"), false).empty());
}

void once_an_attempt(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  REQUIRE(loop.run(h1->put(frames(node_address("h2"), 1, 3), 0)).ok());
  CHECK(is(loop.run(h1->put(frames(node_address("h2"), 1, 4), 0)), {What::was_there, What::was_there, What::appended}));
  CHECK(is(loop.run(h1->put(frames(node_address("h2"), 1, 2, 1), 0)), {What::appended}));
  auto other = frames(node_address("h2"), 1, 2);
  other.front().to = "w4";  // to somebody else, under a key that was: what it says is not looked at
  CHECK(is(loop.run(h1->put(other, 0)), {What::was_there}));
  CHECK(is(loop.run(h2->put(frames(node_address("h2"), 1, 2), 0)), {What::appended}));
  CHECK(loop.entries(*h2, false).size() == 5);
}

void not_acknowledged_comes_first(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  REQUIRE(loop.run(h1->put(frames(node_address("h2"), 0, 40), 0)).ok());
  std::vector<ReceivedFrame> seen;
  CHECK(loop.entries(*h2, false, &seen).size() == 40);
  REQUIRE(loop.run(h2->acknowledge({seen.begin(), seen.begin() + 10})).ok());
  REQUIRE(loop.run(h1->put(frames(node_address("h2"), 40, 80), 0)).ok());
  const auto got = loop.entries(*broker.node("h2"), false);
  REQUIRE(got.size() == 70);
  for (int i = 0; i < 70; ++i) CHECK(got[static_cast<std::size_t>(i)] == frame("", i + 10).entry);
}

void given_again_when_not_acknowledged(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  REQUIRE(loop.run(h1->put(frames(node_address("h2"), 0, 3), 0)).ok());
  std::vector<ReceivedFrame> seen;
  CHECK(loop.entries(*h2, false, &seen).size() == 3);
  broker.break_next_call();
  CHECK(loop.run(h2->acknowledge(seen)).error().code == "redis.down");
  std::vector<ReceivedFrame> again;
  CHECK(loop.entries(*h2, false, &again).size() == 3);
  REQUIRE(loop.run(h2->acknowledge(again)).ok());
  CHECK(loop.entries(*broker.node("h2"), false).empty());
}

void taken_over(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2"), standby = broker.node("h9");
  REQUIRE(loop.run(h2->put(frames(lead, 0, 40), 0)).ok());
  CHECK(loop.entries(*h1, false).empty());
  CHECK(loop.entries(*h1, true).size() == 40);
  REQUIRE(loop.run(h2->put(frames(lead, 40, 80), 0)).ok());
  CHECK(loop.entries(*standby, false).empty());
  const auto got = loop.entries(*standby, true);
  REQUIRE(got.size() == 80);
  for (int i = 0; i < 80; ++i) CHECK(got[static_cast<std::size_t>(i)] == frame("", i).entry);
}

void one_leads(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h9 = broker.node("h9");
  CHECK(loop.run(h1->leader())->holder.empty());
  const auto first = loop.run(h1->elect(7));
  CHECK(first->ours);
  CHECK(first->epoch == 8);
  CHECK(first->left > milliseconds(0));
  const auto refused = loop.run(h9->elect(0));
  CHECK_FALSE(refused->ours);
  CHECK(refused->holder == "h1");
  CHECK(refused->epoch == 8);
  CHECK(loop.run(h1->renew(8))->ours);
  CHECK_FALSE(loop.run(h1->renew(7))->ours);
  CHECK_FALSE(loop.run(h9->renew(8))->ours);
  CHECK(loop.run(h9->leader())->holder == "h1");
  REQUIRE(loop.run(h9->resign(8)).ok());
  CHECK(loop.run(h9->leader())->holder == "h1");
  CHECK(loop.run(broker.node("h1")->elect(0))->epoch == 9);  // its own lease, which an earlier process had
  CHECK_FALSE(loop.run(h1->renew(8))->ours);
  REQUIRE(loop.run(h1->resign(9)).ok());
  CHECK(loop.run(h9->leader())->epoch == 9);
  CHECK(loop.run(h9->elect(0))->epoch == 10);
  broker.lease_ends();
  CHECK_FALSE(loop.run(h9->renew(10))->ours);
  CHECK(loop.run(h1->leader())->holder.empty());
  broker.empty();
  CHECK(loop.run(h1->elect(10))->epoch == 11);
}

void fenced(Engine& broker) {
  auto& loop = broker.loop();
  auto paused = broker.node("h1"), now = broker.node("h9"), h2 = broker.node("h2");
  REQUIRE(loop.run(paused->elect(0))->epoch == 1);
  broker.lease_ends();
  CHECK(is(loop.run(paused->put(frames(node_address("h2"), 0, 1), 1)), {What::appended}));  // nobody else led
  REQUIRE(loop.run(now->elect(0))->epoch == 2);
  const auto put = loop.run(paused->put(frames(node_address("h2"), 1, 4), 1));
  CHECK(is(put, {What::fenced}));
  CHECK(put->front().epoch == 2);
  const auto answers = loop.run(paused->answer(frames(node_address("h2"), 5, 7), 1));
  REQUIRE(answers.ok());
  REQUIRE(answers->size() == 1);  // and nothing behind it
  CHECK(answers->front().what == AnswerOutcome::What::fenced);
  CHECK(answers->front().epoch == 2);
  CHECK_FALSE(loop.run(paused->renew(1))->ours);
  CHECK(loop.entries(*h2, false).size() == 1);
  CHECK(loop.run(now->answer({frame(node_address("h2"), 5)}, 2))->front().what == AnswerOutcome::What::decided);
  CHECK(loop.entries(*h2, false).size() == 1);
  broker.empty();
  CHECK(is(loop.run(now->put(frames(node_address("h2"), 6, 7), 2)), {What::fenced}));  // it knows of no leader
  // Emptied, it gives the same number once more. The one that had it before is fenced all the same.
  REQUIRE(loop.run(paused->elect(1))->epoch == 2);
  CHECK(is(loop.run(now->put(frames(node_address("h2"), 6, 7), 2)), {What::fenced}));
  CHECK(loop.run(now->answer({frame(node_address("h2"), 7)}, 2))->front().what == AnswerOutcome::What::fenced);
  CHECK_FALSE(loop.run(now->renew(2))->ours);
  REQUIRE(loop.run(now->resign(2)).ok());
  CHECK(loop.run(now->leader())->holder == "h1");
  CHECK(loop.run(now->leader())->epoch == 2);
  CHECK(loop.run(paused->renew(2))->ours);
}

void one_answer(Engine& broker) {
  auto& loop = broker.loop();
  auto h2 = broker.node("h2");
  std::vector<std::unique_ptr<Broker>> racers;
  for (int i = 0; i < 64; ++i) racers.push_back(broker.node("h1"));
  const auto epoch = loop.run(racers.front()->elect(0))->epoch;
  const auto known = loop.run(racers.front()->answered({{"permission", "r1"}}));
  REQUIRE(known->size() == 1);
  CHECK(known->front().node.empty());
  const auto answer = [&](std::size_t i) {
    Frame one = frame(node_address("h2"), 1);
    one.entry = "answer " + std::to_string(i);
    one.key.value = "answer-key-" + std::to_string(i);
    one.type = "permission";
    std::vector<Frame> alone{one};
    return racers[i]->answer(std::move(alone), epoch);
  };
  std::vector<std::optional<Result<std::vector<AnswerOutcome>>>> outcomes(racers.size());
  for (std::size_t i = 0; i < racers.size(); ++i)
    boost::asio::co_spawn(loop.io, keep_result(answer(i), outcomes[i]), [](std::exception_ptr thrown) { REQUIRE_FALSE(thrown); });
  loop.io.restart();
  loop.io.run();
  std::vector<std::string> winners, told;
  std::size_t winner = 0;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    REQUIRE(outcomes[i].has_value());
    REQUIRE(outcomes[i]->ok());
    const AnswerOutcome& outcome = (*outcomes[i])->front();
    if (outcome.what == AnswerOutcome::What::decided) {
      winners.push_back("answer " + std::to_string(i));
      winner = i;
    }
    if (outcome.what != AnswerOutcome::What::other) continue;
    told.push_back(outcome.other.entry);
    CHECK(outcome.other.node == "h1");
    CHECK(outcome.other.epoch == epoch);
  }
  REQUIRE(winners.size() == 1);
  CHECK(told == std::vector<std::string>(63, winners.front()));
  CHECK(loop.run(answer(winner))->front().what == AnswerOutcome::What::was_ours);
  CHECK(loop.entries(*h2, false) == winners);
  const auto answered = loop.run(racers.front()->answered({{"permission", "r1"}, {"plan", "r1"}}));
  REQUIRE(answered->size() == 2);
  CHECK(answered->front().entry == winners.front());
  CHECK(answered->front().node == "h1");
  CHECK(answered->front().epoch == epoch);
  CHECK(answered->back().node.empty());
}

void answers_together(Engine& broker) {
  using Answer = AnswerOutcome::What;
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  const auto epoch = loop.run(h1->elect(0))->epoch;
  std::vector<Frame> answers;
  for (int i = 1; i <= 3; ++i) {
    auto& one = answers.emplace_back(frame(node_address("h2"), i));
    one.type = "permission";
    one.request = "r" + std::to_string(i);
  }
  std::vector<Frame> before{answers[1]};
  before[0].entry = "what was said first";
  before[0].key.value = "another-key";
  CHECK(loop.run(h1->answer(before, epoch))->front().what == Answer::decided);
  const auto outcomes = loop.run(h1->answer(answers, epoch));
  REQUIRE(outcomes.ok());
  REQUIRE(outcomes->size() == 3);
  CHECK((*outcomes)[0].what == Answer::decided);
  CHECK((*outcomes)[1].what == Answer::other);
  CHECK((*outcomes)[1].other.entry == "what was said first");
  CHECK((*outcomes)[2].what == Answer::decided);
  CHECK(loop.entries(*h2, false) == std::vector<std::string>{"what was said first", answers[0].entry, answers[2].entry});
}

void place_tells(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  REQUIRE(loop.run(h1->elect(0)).ok());
  const auto first = loop.run(h2->place());
  REQUIRE(first.ok());
  REQUIRE(loop.run(h1->put(frames(node_address("h2"), 0, 3), 0)).ok());
  CHECK(*loop.run(h2->place()) == *first);
  broker.empty();
  CHECK(*loop.run(h2->place()) != *first);
  REQUIRE(loop.run(h1->elect(1))->epoch == 2);
  CHECK(*loop.run(h2->place()) != *first);
  CHECK(is(loop.run(h1->put(frames(node_address("h2"), 0, 3), 0)), std::vector(3, What::appended)));
}

void nodes_tell(Engine& broker) {
  auto& loop = broker.loop();
  auto h1 = broker.node("h1"), h2 = broker.node("h2");
  const auto tell = [&](Broker& node, const std::string& name, const std::string& text) {
    Heartbeat told{name, text};
    REQUIRE(loop.run(node.beat(told)).ok());
  };
  const auto told = [&] {
    std::map<std::string, std::string> all;
    const auto beats = loop.run(h1->nodes());
    REQUIRE(beats.ok());
    for (const auto& one : *beats) all[one.node] = one.told;
    return all;
  };
  tell(*h1, "h1", "{}");
  tell(*h2, "h2", R"({"version":"1"})");
  CHECK(told() == std::map<std::string, std::string>{{"h1", "{}"}, {"h2", R"({"version":"1"})"}});
  tell(*h2, "h2", std::string(longest_beat, 'x'));
  CHECK(told()["h2"].size() == longest_beat);
  tell(*h2, "h2", std::string(longest_beat + 1, 'x'));
  CHECK_FALSE(told().contains("h2"));
  tell(*h2, "h2", "{}");
  broker.silence("h2");
  tell(*h1, "h1", "{}");
  CHECK(told() == std::map<std::string, std::string>{{"h1", "{}"}});
}

struct Case {
  std::string name;
  void (*run)(Engine&);
};
const std::vector<Case> cases{
    {"letters arrive with all that was said, in their order, and with who wrote them", arrive_as_written},
    {"the same attempt is appended once, another attempt again", once_an_attempt},
    {"what an earlier process was given and did not acknowledge comes first, then what is new", not_acknowledged_comes_first},
    {"what could not be acknowledged is given again", given_again_when_not_acknowledged},
    {"a standby that takes over is given what the dead leader had not acknowledged", taken_over},
    {"one leads at a time, under an epoch that only grows, also over an engine that forgot it", one_leads},
    {"whoever does not lead any more appends nothing and decides nothing", fenced},
    {"of many answers one is decided, and all others are told which", one_answer},
    {"answers go together, in their order, and one that comes too late stops none behind it", answers_together},
    {"the place is another one after the engine was emptied, and the same otherwise", place_tells},
    {"nodes tell of themselves, and are forgotten when they do not", nodes_tell},
};

}  // namespace

TEST_CASE("the way between nodes is the same in memory and over Redis") {
  std::vector<std::pair<std::string, std::function<std::unique_ptr<Engine>()>>> engines{
      {"memory", [] { return std::make_unique<Memory>(); }}};
  if (shared_redis().runs())
    engines.emplace_back("redis", [] { return std::make_unique<Redis>(); });
  else
    WARN("no redis-server here: the exchange's suite does not run over Redis");
  for (const auto& [name, make] : engines) {
    for (const Case& one : cases) {
      CAPTURE(name, one.name);
      one.run(*make());
    }
  }
}

}  // namespace inbox_poller::broker_conformance

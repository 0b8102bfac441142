// The way between hosts over a real Redis: letters in each sender's order, once for each attempt; one decision an ask; and
// nothing for whoever does not lead any more. Where there is no server, these say nothing.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "poller/exchange/redis_exchange.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Several hosts of one team, on one loop.
struct Hosts {
  boost::asio::io_context io{1};
  std::string team = fresh_team();
  RedisCaller direct{shared_redis().address(team), seconds(20)};
  RedisKeys keys{team};

  std::unique_ptr<RedisExchange> host(const std::string& name) {
    auto made = std::make_unique<RedisExchange>(io.get_executor(), RedisExchange::Settings{shared_redis().address(team), name, seconds(20)});
    HostBeat beat{name, "{}", 0};
    REQUIRE(run(made->beat(beat)).ok());
    return made;
  }
  template <class T>
  T run(boost::asio::awaitable<T> task) {
    std::optional<T> result;
    std::exception_ptr failure;
    boost::asio::co_spawn(io, keep_result(std::move(task), result), [&](std::exception_ptr thrown) { failure = thrown; });
    io.restart();
    while (!result && !failure && io.run_one() > 0) {
    }
    if (failure) std::rethrow_exception(failure);
    REQUIRE(result.has_value());
    return *std::move(result);
  }
  std::vector<std::string> entries(Exchange& exchange, bool as_leader, std::vector<ArrivedLetter>* all = nullptr) {
    std::vector<std::string> got;
    for (;;) {
      auto some = run(exchange.receive(as_leader, 7, milliseconds(0)));
      REQUIRE(some.ok());
      if (some->empty()) return got;
      for (ArrivedLetter& one : *some) {
        got.push_back(one.entry);
        if (all != nullptr) all->push_back(std::move(one));
      }
    }
  }
};

HostLetter letter(const std::string& address, int number, int attempt = 0) {
  HostLetter one;
  one.address = address;
  one.to = "w3";
  one.from = "w1";
  one.type = "message";
  one.request = "r" + std::to_string(number);
  one.entry = "entry " + std::to_string(number) + std::string("\0\r\n", 3);
  one.key.value = "key-" + std::to_string(number);
  one.number = number;
  one.after = number - 1;
  one.at_ms = 1'700'000'000'000 + number;
  one.attempt = attempt;
  return one;
}

std::vector<HostLetter> letters(const std::string& address, int from, int to, int attempt = 0) {
  std::vector<HostLetter> many;
  for (int i = from; i < to; ++i) many.push_back(letter(address, i, attempt));
  return many;
}

}  // namespace

TEST_CASE("Letters to a host arrive there with all that was said, in their order, and with who wrote them") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2"), h3 = hosts.host("h3");
  const auto put = hosts.run(h1->put(letters(host_address("h2"), 1, 251), 0));
  REQUIRE(put.ok());
  REQUIRE(put->size() == 250);
  CHECK(std::all_of(put->begin(), put->end(), [](const PutOutcome& one) { return one.what == PutOutcome::What::appended; }));
  std::vector<ArrivedLetter> arrived;
  CHECK(hosts.entries(*h3, false).empty());
  CHECK(hosts.entries(*h2, false, &arrived).size() == 250);
  for (int i = 0; i < 250; ++i) {
    const HostLetter sent = letter(host_address("h2"), i + 1);
    const ArrivedLetter& one = arrived[static_cast<std::size_t>(i)];
    REQUIRE(one.host == "h1");
    REQUIRE(std::tie(one.address, one.to, one.from, one.type, one.request, one.entry, one.key.value, one.number, one.after, one.at_ms) ==
            std::tie(sent.address, sent.to, sent.from, sent.type, sent.request, sent.entry, sent.key.value, sent.number, sent.after,
                     sent.at_ms));
  }
  REQUIRE(hosts.run(h2->acknowledge(arrived)).ok());
  CHECK(hosts.entries(*hosts.host("h2"), false).empty());
}

TEST_CASE("The same attempt is appended once, another attempt again") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2");
  REQUIRE(hosts.run(h1->put(letters(host_address("h2"), 1, 3), 0)).ok());
  const auto again = hosts.run(h1->put(letters(host_address("h2"), 1, 4), 0));
  CHECK(again->at(0).what == PutOutcome::What::was_there);
  CHECK(again->at(1).what == PutOutcome::What::was_there);
  CHECK(again->at(2).what == PutOutcome::What::appended);
  CHECK(hosts.run(h1->put(letters(host_address("h2"), 1, 2, 1), 0))->front().what == PutOutcome::What::appended);
  CHECK(hosts.entries(*h2, false).size() == 4);
}

TEST_CASE("What an earlier process was given and did not acknowledge comes first, then what is new") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2");
  REQUIRE(hosts.run(h1->put(letters(host_address("h2"), 0, 40), 0)).ok());
  std::vector<ArrivedLetter> seen;
  CHECK(hosts.entries(*h2, false, &seen).size() == 40);
  REQUIRE(hosts.run(h2->acknowledge({seen.begin(), seen.begin() + 10})).ok());
  REQUIRE(hosts.run(h1->put(letters(host_address("h2"), 40, 80), 0)).ok());
  auto next = hosts.host("h2");
  const auto got = hosts.entries(*next, false);
  REQUIRE(got.size() == 70);
  for (int i = 0; i < 70; ++i) CHECK(got[static_cast<std::size_t>(i)] == letter("", i + 10).entry);
}

TEST_CASE("A standby that takes over is given what the dead leader had not acknowledged") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2"), standby = hosts.host("h9");
  REQUIRE(hosts.run(h2->put(letters(std::string(lead_address), 0, 40), 0)).ok());
  CHECK(hosts.entries(*h1, false).empty());
  CHECK(hosts.entries(*h1, true).size() == 40);
  REQUIRE(hosts.run(h2->put(letters(std::string(lead_address), 40, 80), 0)).ok());
  CHECK(hosts.entries(*standby, false).empty());
  const auto got = hosts.entries(*standby, true);
  REQUIRE(got.size() == 80);
  for (int i = 0; i < 80; ++i) CHECK(got[static_cast<std::size_t>(i)] == letter("", i).entry);
}

TEST_CASE("One leads at a time, under an epoch that only grows, also over an engine that forgot it") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h9 = hosts.host("h9");
  CHECK(hosts.run(h1->leader())->holder.empty());
  const auto first = hosts.run(h1->elect(7));
  CHECK(first->ours);
  CHECK(first->epoch == 8);
  CHECK(first->left > milliseconds(0));
  const auto refused = hosts.run(h9->elect(0));
  CHECK_FALSE(refused->ours);
  CHECK(refused->holder == "h1");
  CHECK(refused->epoch == 8);
  CHECK(hosts.run(h1->renew(8))->ours);
  CHECK_FALSE(hosts.run(h1->renew(7))->ours);
  CHECK_FALSE(hosts.run(h9->renew(8))->ours);
  CHECK(hosts.run(h9->leader())->holder == "h1");
  REQUIRE(hosts.run(h9->resign(8)).ok());
  CHECK(hosts.run(h9->leader())->holder == "h1");
  REQUIRE(hosts.run(h1->resign(8)).ok());
  CHECK(hosts.run(h9->elect(0))->epoch == 9);
  REQUIRE(hosts.direct.call(RedisCommand{"DEL", hosts.keys.of("epoch"), hosts.keys.of("leader")}).ok());
  CHECK(hosts.run(h1->elect(9))->epoch == 10);
}

TEST_CASE("Whoever was paused and does not lead any more appends nothing and decides nothing") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto paused = hosts.host("h1"), now = hosts.host("h9"), h2 = hosts.host("h2");
  REQUIRE(hosts.run(paused->elect(0))->epoch == 1);
  REQUIRE(hosts.direct.call(RedisCommand{"DEL", hosts.keys.of("leader")}).ok());  // its lease ran out
  REQUIRE(hosts.run(now->elect(0))->epoch == 2);
  const auto put = hosts.run(paused->put(letters(host_address("h2"), 0, 3), 1));
  REQUIRE(put.ok());
  REQUIRE(put->size() == 1);
  CHECK(put->front().what == PutOutcome::What::fenced);
  CHECK(put->front().epoch == 2);
  const auto answer = hosts.run(paused->answer("permission", letter(host_address("h2"), 5), 1));
  CHECK(answer->what == AnswerOutcome::What::fenced);
  CHECK_FALSE(hosts.run(paused->renew(1))->ours);
  CHECK(hosts.entries(*h2, false).empty());
  CHECK(hosts.run(now->answer("permission", letter(host_address("h2"), 5), 2))->what == AnswerOutcome::What::decided);
  CHECK(hosts.entries(*h2, false).size() == 1);
}

TEST_CASE("Of 64 answers that race one is decided, and all others are told which") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h2 = hosts.host("h2");
  std::vector<std::unique_ptr<RedisExchange>> racers;
  for (int i = 0; i < 64; ++i) racers.push_back(hosts.host("h1"));
  const auto epoch = hosts.run(racers.front()->elect(0))->epoch;
  std::vector<std::optional<Result<AnswerOutcome>>> outcomes(64);
  for (std::size_t i = 0; i < 64; ++i) {
    HostLetter one = letter(host_address("h2"), 1);
    one.entry = "answer " + std::to_string(i);
    one.key.value = "answer-key-" + std::to_string(i);
    boost::asio::co_spawn(hosts.io, keep_result(racers[i]->answer("permission", one, epoch), outcomes[i]),
                          [](std::exception_ptr thrown) { REQUIRE_FALSE(thrown); });
  }
  hosts.io.restart();
  hosts.io.run();
  std::vector<std::string> winners, told;
  for (std::size_t i = 0; i < 64; ++i) {
    REQUIRE(outcomes[i].has_value());
    REQUIRE(outcomes[i]->ok());
    if ((*outcomes[i])->what == AnswerOutcome::What::decided) winners.push_back("answer " + std::to_string(i));
    if ((*outcomes[i])->what == AnswerOutcome::What::other) told.push_back((*outcomes[i])->entry);
  }
  REQUIRE(winners.size() == 1);
  CHECK(told == std::vector<std::string>(63, winners.front()));
  CHECK(hosts.entries(*h2, false) == winners);
}

TEST_CASE("A wait for letters ends when something comes, and when it is told to") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2");
  CHECK(hosts.entries(*h2, false).empty());
  std::optional<Result<std::vector<PutOutcome>>> put;
  boost::asio::steady_timer later(hosts.io, milliseconds(200));
  later.async_wait([&](const boost::system::error_code&) {
    boost::asio::co_spawn(hosts.io, keep_result(h1->put(letters(host_address("h2"), 1, 2), 0), put),
                          [](std::exception_ptr thrown) { REQUIRE_FALSE(thrown); });
  });
  CHECK(hosts.run(h2->receive(false, 10, seconds(60)))->size() == 1);
  later.expires_after(milliseconds(200));
  later.async_wait([&](const boost::system::error_code&) { h2->wake(); });
  const auto before = std::chrono::steady_clock::now();
  CHECK(hosts.run(h2->receive(false, 10, seconds(600))).ok());
  CHECK(std::chrono::steady_clock::now() - before < seconds(300));
}

TEST_CASE("The place is another one after a restart and after the engine was emptied, and the same otherwise") {
  RedisServer server;
  if (!server.runs()) return;
  Hosts hosts;
  const auto connect = [&](const std::string& host) {
    return std::make_unique<RedisExchange>(hosts.io.get_executor(), RedisExchange::Settings{server.address("t"), host, seconds(20)});
  };
  auto h1 = connect("h1"), h2 = connect("h2");
  REQUIRE(hosts.run(h1->elect(0)).ok());
  const auto first = hosts.run(h2->place());
  REQUIRE(first.ok());
  CHECK(*hosts.run(h2->place()) == *first);
  REQUIRE(hosts.run(h2->put(letters(std::string(lead_address), 1, 3), 0)).ok());
  RedisCaller direct(server.address("t"), seconds(20));
  REQUIRE(direct.call(RedisCommand{"FLUSHALL"}).ok());
  REQUIRE(hosts.run(h1->elect(1))->epoch == 2);
  const auto emptied = hosts.run(h2->place());
  CHECK(*emptied != *first);
  REQUIRE(hosts.run(h2->put(letters(std::string(lead_address), 1, 3), 0)).ok());
  server.kill();
  CHECK(hosts.run(h2->place()).error().code == "exchange.down");
  server.start();
  for (int i = 0; i < 20 && !hosts.run(h2->place()).ok(); ++i) {
  }
  CHECK(*hosts.run(h2->place()) != *emptied);
}

TEST_CASE("Hosts tell of themselves, and are forgotten when they do not") {
  if (!shared_redis().runs()) return;
  Hosts hosts;
  auto h1 = hosts.host("h1"), h2 = hosts.host("h2");
  HostBeat told{"h2", R"({"version":"1"})", 0};
  REQUIRE(hosts.run(h2->beat(told)).ok());
  const auto all = hosts.run(h1->hosts());
  REQUIRE(all->size() == 2);
  CHECK(all->at(1).host == "h2");
  CHECK(all->at(1).told == R"({"version":"1"})");
  CHECK(all->at(1).left_ms > 0);
  REQUIRE(hosts.direct.call(RedisCommand{"DEL", hosts.keys.host("h2")}).ok());
  CHECK(hosts.run(h1->hosts())->size() == 1);
}

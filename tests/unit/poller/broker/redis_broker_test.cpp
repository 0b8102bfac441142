// What only a real Redis shows of the way between nodes: it is waited for, restarted, and given what no honest node writes.
// The rest is in tests/conformance/broker_conformance.cpp. Where there is no server, these say nothing.
#include <boost/asio/steady_timer.hpp>

#include "tests/unit/poller/broker/broker_setting.hpp"

namespace inbox_poller::redis_broker_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("A wait for letters ends when something comes, and when it is told to") {
  if (!shared_redis().runs()) return;
  RedisNodes nodes;
  auto h1 = nodes.node("h1"), h2 = nodes.node("h2");
  CHECK(nodes.entries(*h2, false).empty());
  std::optional<Result<std::vector<PutOutcome>>> put;
  boost::asio::steady_timer later(nodes.io, milliseconds(200));
  later.async_wait([&](const boost::system::error_code&) {
    boost::asio::co_spawn(nodes.io, keep_result(h1->put(frames(node_address("h2"), 1, 2), 0), put),
                          [](std::exception_ptr thrown) { REQUIRE_FALSE(thrown); });
  });
  CHECK(nodes.run(h2->receive(false, 10, seconds(60)))->size() == 1);
  later.expires_after(milliseconds(200));
  later.async_wait([&](const boost::system::error_code&) { h2->wake(); });
  CHECK(nodes.run(h2->receive(false, 10, std::chrono::hours(10))).ok());  // whoever is not woken waits until the test is ended
}

TEST_CASE("The place is another one after a restart") {
  RedisServer server;
  if (!server.runs()) return;
  Loop loop;
  RedisBroker h1(loop.io.get_executor(), {server.address("t"), "h1", seconds(20)});
  REQUIRE(loop.run(h1.elect(0)).ok());
  const auto first = loop.run(h1.place());
  REQUIRE(first.ok());
  server.kill();
  CHECK(loop.run(h1.place()).error().code == "redis.down");
  server.start();
  REQUIRE(holds_after([&] { return loop.run(h1.place()).ok(); }, [] {}));
  CHECK(*loop.run(h1.place()) != *first);
}

TEST_CASE("A letter too large to be read stands in nobody's way, nor many that are large together") {
  if (!shared_redis().runs()) return;
  RedisNodes nodes;
  constexpr auto most = std::size_t{4} << 20;  // under the sanitizer each reply of the usual limit takes ten seconds
  auto h1 = nodes.node("h1", most), h2 = nodes.node("h2"), h3 = nodes.node("h3");
  const std::string lead(lead_address);
  REQUIRE(nodes.run(h2->put(frames(lead, 1, 2), 0)).ok());
  // Made by the engine, and once: a call that takes long on a slow machine is made again.
  nodes.call({"EVAL",
              "if redis.call('XLEN', KEYS[1]) == 1 then redis.call('XADD', KEYS[1], '*', 'k', 'a key', 'e', "
              "string.rep('x', tonumber(ARGV[1]))) end return 1",
              "1", nodes.keys.stream(lead, "h2"), std::to_string(most)});
  REQUIRE(nodes.run(h2->put(frames(lead, 2, 3), 0)).ok());
  auto large = frames(lead, 1, 18);
  for (Frame& one : large) one.entry = std::string(most / 16, 'x');  // more than one reply may have
  REQUIRE(nodes.run(h3->put(large, 0)).ok());
  std::vector<ReceivedFrame> got;
  for (int i = 0; i < 40 && got.size() < 20; ++i) {
    auto some = nodes.run(h1->receive(true, 500, milliseconds(0)));
    if (!some) continue;  // fewer the next time
    got.insert(got.end(), some->begin(), some->end());
    REQUIRE(nodes.run(h1->acknowledge(*std::move(some))).ok());
  }
  std::vector<std::string> of_h2, of_h3;
  for (const ReceivedFrame& one : got) (one.node == "h2" ? of_h2 : of_h3).push_back(one.key.value);
  CHECK(of_h2 == std::vector<std::string>{"key-1", "", "key-2"});
  CHECK(of_h3.size() == 17);
  CHECK(of_h3.back() == "key-17");
  CHECK(nodes.entries(*nodes.node("h1"), true).empty());
}

}  // namespace inbox_poller::redis_broker_test

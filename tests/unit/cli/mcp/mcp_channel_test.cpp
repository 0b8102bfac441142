// Pushing into a session: never better than assumed without its word, and silent when nobody answers.
#include "poller/cli/mcp/channel.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::mcp_channel_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
using inbox_poller::poller::cli::mcp::Channel;
namespace json = boost::json;

namespace {

struct Session {
  TempDir dir;
  FakeDaemon daemon{dir / "s"};
  boost::asio::io_context loop;
  std::vector<json::object> events;
  std::vector<std::string> complaints;
  Channel channel;

  explicit Session(std::chrono::milliseconds patience)
      : channel(loop, {dir / "s", "", "channel", false, {}},
                [this](json::object params) {
                  events.push_back(std::move(params));
                  daemon.prepare("recv", {{"messages", json::array()}});  // each comes once
                },
                [this](const std::string& what) { complaints.push_back(what); }, patience) {
    daemon.prepare("attach", {{"team", "demo"}});
    daemon.prepare("ack", {{"acknowledged", 1}});
    daemon.prepare("recv", {{"messages", json::array()}});
    channel.start();
  }

  template <class Condition>
  bool until(Condition holds) {
    return eventually([&] {
      loop.run_for(std::chrono::milliseconds(2));  // clock: until the condition is checked again
      return holds();
    });
  }

  void say(const std::string& key) {
    daemon.prepare("recv", {{"messages", json::array{json::object{{"message_key", key}, {"from", "ada"}}}}, {"block", "text of " + key}});
  }

  std::vector<json::object> told(std::string_view verb) const {
    std::vector<json::object> list;
    for (const auto& request : daemon.requests())
      if (request.at("verb").as_string() == verb) list.push_back(request);
    return list;
  }
};

}  // namespace

TEST_CASE("an event carries the block, and the key with which the session acknowledges it") {
  Session session{std::chrono::minutes(1)};
  for (const char* key : {"k-1", "k-2", "k-3"}) {
    const auto before = session.events.size();
    session.say(key);
    REQUIRE(session.until([&] { return session.events.size() > before; }));
  }
  session.say("k-4");  // so many are out at a time, and no more
  for (int i = 0; i < 10; ++i) session.loop.run_for(std::chrono::milliseconds(2));  // clock: more time finds more
  REQUIRE(session.events.size() == 3);
  CHECK(session.events[0].at("content") == "text of k-1");
  CHECK(session.events[0].at("meta") == json::object{{"key", "k-1"}, {"from", "ada"}});
  CHECK(session.told("recv").front().at("max") == 1);
}

TEST_CASE("what the session acknowledges is acknowledged, nothing else is") {
  Session session{std::chrono::minutes(1)};
  session.say("k-1");
  REQUIRE(session.until([&] { return !session.events.empty(); }));
  CHECK_FALSE(session.channel.acknowledge("k-0"));
  CHECK(session.channel.acknowledge("k-1"));
  REQUIRE(session.until([&] { return !session.told("ack").empty(); }));
  CHECK_FALSE(session.told("ack").front().contains("assumed"));
}

TEST_CASE("after three events without an answer nothing more is pushed, until somebody answers") {
  Session session{std::chrono::milliseconds(1)};
  for (const char* key : {"k-1", "k-2", "k-3"}) {
    const auto before = session.told("ack").size();
    session.say(key);
    REQUIRE(session.until([&] { return session.told("ack").size() > before; }));
  }
  for (const auto& told : session.told("ack")) CHECK(told.at("assumed") == true);
  CHECK(session.complaints.size() == 1);
  session.say("k-4");
  for (int i = 0; i < 10; ++i) session.loop.run_for(std::chrono::milliseconds(2));  // clock: more time finds more
  CHECK(session.events.size() == 3);
  CHECK_FALSE(session.channel.acknowledge("k-1"));  // late, and yet somebody is there
  CHECK(session.until([&] { return session.events.size() == 4; }));
  CHECK(session.told("attach").size() == 2);  // it had left its place to other ways
}

}  // namespace inbox_poller::mcp_channel_test

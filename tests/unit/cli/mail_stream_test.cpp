// What whoever receives for the lead and stays owes the daemon; the whole of it is tested with processes
// (tests/integration/test_lead_run.py, test_follow.py).
#include "poller/cli/mail_stream.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::mail_stream_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
using inbox_poller::poller::cli::MailReader;
using inbox_poller::poller::cli::MailStream;
namespace json = boost::json;

namespace {

struct Reader : MailReader {
  std::size_t wanted = 0;
  int attachments = 0;
  std::vector<json::object> answers;
  std::vector<std::string> losses;
  std::vector<bool> tellings;

  [[nodiscard]] std::size_t room() const override { return wanted; }
  void attached(const json::object&) override { ++attachments; }
  void received(const json::object& answer) override {
    answers.push_back(answer);
    wanted = 0;
  }
  bool lost(const Error& why, std::chrono::milliseconds) override {
    losses.push_back(why.message);
    return true;
  }
  void told(bool all) override { tellings.push_back(all); }
};

struct Receiver {
  TempDir dir;
  boost::asio::io_context loop;
  Reader reader;
  MailStream mail{loop, {dir / "s", "", "stdin", false, {}}, reader};

  /// Runs until the condition holds; false when it does not in time.
  template <class Condition>
  bool until(Condition holds) {
    return eventually([&] {
      loop.run_for(std::chrono::milliseconds(2));  // clock: until the condition is checked again
      return holds();
    });
  }
};

std::vector<std::string> verbs(const FakeDaemon& daemon) {
  std::vector<std::string> list;
  for (const auto& request : daemon.requests()) list.emplace_back(request.at("verb").as_string());
  return list;
}

}  // namespace

TEST_CASE("without a daemon a state is not worth waiting for, what the lead took is") {
  Receiver receiver;
  receiver.mail.start();
  CHECK(receiver.mail.settled());
  receiver.mail.report("stream_closes", "s-1");
  CHECK(receiver.until([&] { return !receiver.reader.losses.empty(); }));
  CHECK(receiver.mail.settled());
  receiver.mail.acknowledge({"key"});
  CHECK(receiver.until([&] { return receiver.reader.losses.size() > 1; }));
  CHECK_FALSE(receiver.mail.settled());
  CHECK(receiver.mail.unacknowledged() == 1);
}

TEST_CASE("more messages are asked for when there is room, and everything is told") {
  Receiver receiver;
  FakeDaemon daemon(receiver.dir / "s");
  daemon.prepare("attach", {{"team", "demo"}});
  daemon.prepare("lead", {});
  daemon.prepare("ack", {{"acknowledged", 1}});
  daemon.prepare("recv", {{"messages", json::array{json::object{{"message_key", "k-1"}}}}});
  receiver.mail.report("stream_opens", "s-1");
  receiver.mail.start();
  REQUIRE(receiver.until([&] { return receiver.reader.tellings.size() == 1; }));
  CHECK(verbs(daemon) == std::vector<std::string>{"attach", "lead"});
  receiver.reader.wanted = 5;
  receiver.mail.wake();
  REQUIRE(receiver.until([&] { return receiver.reader.answers.size() == 1; }));
  CHECK(daemon.requests().back().at("max") == 5);
  CHECK(daemon.requests().back().at("team") == "demo");
  receiver.reader.wanted = 5;
  receiver.mail.acknowledge({"k-1", "k-0"});
  REQUIRE(receiver.until([&] { return receiver.reader.answers.size() == 2; }));
  CHECK(verbs(daemon) == std::vector<std::string>{"attach", "lead", "recv", "ack", "recv"});
  CHECK(receiver.reader.tellings == std::vector<bool>{true, false});  // one of two was ours
  CHECK(receiver.reader.losses.empty());
}

TEST_CASE("what one daemon was not told the next one is told before it is asked for more") {
  Receiver receiver;
  auto first = std::make_unique<FakeDaemon>(receiver.dir / "s");
  first->prepare("attach", {{"team", "demo"}});
  first->prepare("lead", {});
  receiver.mail.report("stream_opens", "");
  receiver.mail.start();
  REQUIRE(receiver.until([&] { return receiver.reader.tellings.size() == 1; }));
  receiver.reader.wanted = 1;
  receiver.mail.acknowledge({"k-1"});  // this daemon never answers that
  REQUIRE(receiver.until([&] { return first->requests().size() == 3; }));
  receiver.mail.acknowledge({"k-2"});
  receiver.mail.acknowledge({"k-3"});
  first.reset();
  REQUIRE(receiver.until([&] { return !receiver.reader.losses.empty(); }));
  FakeDaemon second(receiver.dir / "s");
  for (const char* verb : {"attach", "lead", "ack"}) second.prepare(verb, {{"team", "demo"}});
  second.prepare("recv", {});
  REQUIRE(receiver.until([&] { return second.requests().size() >= 5; }));
  CHECK(verbs(second) == std::vector<std::string>{"attach", "ack", "ack", "lead", "recv"});
  CHECK(second.requests()[1].at("keys") == json::array{"k-1"});
  CHECK(second.requests()[2].at("keys") == json::array{"k-2", "k-3"});
  CHECK(receiver.reader.tellings[1]);        // told to somebody before: it may be known
  CHECK_FALSE(receiver.reader.tellings[2]);  // the others are not
}

TEST_CASE("a daemon that goes away while nothing is asked of it is noticed") {
  Receiver receiver;
  auto daemon = std::make_unique<FakeDaemon>(receiver.dir / "s");
  daemon->prepare("attach", {{"team", "demo"}});
  receiver.mail.start();
  REQUIRE(receiver.until([&] { return receiver.reader.attachments == 1; }));
  daemon.reset();
  CHECK(receiver.until([&] { return !receiver.reader.losses.empty(); }));
}

}  // namespace inbox_poller::mail_stream_test

// Mail in a folder that agents share: what is sent is received once, in order, whole; a message is its owner's until it
// was really handed over.
#include <sys/stat.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <set>

#include "tests/unit/poller/every_fault.hpp"
#include "tests/unit/poller/mailbox/maildir/maildir_setting.hpp"

namespace inbox_poller::maildir_mail_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

MessageDraft letter(json::value payload, std::string to = "bob") {
  return {std::move(to), "handoff", std::move(payload), {}};
}

void send_one(MaildirSetting& setting) {
  const auto sent = setting.actor("bob")->send(letter(1));  // not within a check: that would catch the kill
  REQUIRE(sent.ok());
}

/// As a public store writes.
std::string foreign(const std::string& id, double ts, const std::string& payload, const std::string& more = "") {
  return "{\"id\": \"" + id + "\", \"from\": \"eve\", \"to\": \"bob\", \"type\": \"ack\", \"payload\": " + payload +
         ", \"ts\": " + std::to_string(ts) + more + "}";
}

}  // namespace

TEST_CASE("A message is sent, offered, acknowledged, and nothing else is left behind") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  CHECK_FALSE(setting.recv(*bob)->has_value());
  const auto sent = ada->send({"bob", "handoff", json::parse(R"({"task": "t", "n": [1, null]})"), "77"});
  REQUIRE(sent.ok());
  const json::object written = setting.only("bob/new");
  CHECK(written == sent->message);
  CHECK(text_in(written, "in_reply_to") == "77");
  CHECK(setting.names("tmp").empty());

  const auto got = setting.recv(*bob);
  REQUIRE(got->has_value());
  CHECK((*got)->message == sent->message);
  CHECK((*got)->attempts == 1);
  CHECK(setting.names("bob/new").size() == 1);  // it is his until he says so
  CHECK_FALSE(setting.recv(*bob)->has_value());
  REQUIRE(bob->acknowledge((*got)->ticket).ok());
  CHECK(bob->acknowledge((*got)->ticket).ok());
  CHECK(setting.names("bob/new").empty());
  CHECK(setting.only("bob/cur") == sent->message);
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("The order is the order of the envelopes: names say nothing") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("bob/new/zzz.json", foreign("1", 1000, "1"));
  setting.put("bob/new/msg_aaa.json", foreign("2", 2000, "2"));
  setting.put("bob/new/00000000000000000001-b.json", foreign("3", 3000, "3"));
  setting.put("bob/new/00000000000000000000-c.json", foreign("4", 3000.5, "4"));
  setting.put("bob/new/c.json", R"({"id":"0","payload":0})");
  setting.put("bob/new/.hidden.json", foreign("6", 1, "6"));
  setting.put("bob/new/note.txt", foreign("7", 1, "7"));
  setting.put("bob/new/d.json", R"({"id":"5","payload":5,"ts":"garbage"})");
  CHECK(setting.drain(*bob) == std::vector<std::string>{"0", "5", "1", "2", "3", "4"});
  CHECK(setting.names("bob/new") == std::vector<std::string>{".hidden.json", "note.txt"});
}

TEST_CASE("What one sender writes within a moment is received as it was written") {
  MaildirSetting setting;  // the clock stands still
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  std::vector<std::string> expected;
  REQUIRE(bob->send(letter(0)).ok());  // makes his own box
  for (int i = 1; i < 50; ++i) REQUIRE(ada->send(letter(i)).ok());
  auto payloads = setting.drain(*bob);
  std::erase(payloads, "0");
  for (int i = 1; i < 50; ++i) expected.push_back(std::to_string(i));
  CHECK(payloads == expected);
}

TEST_CASE("Payloads arrive as they were: unicode, controls, deep, empty, a megabyte") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  json::value deep = nullptr;
  for (int i = 0; i < 500; ++i) deep = json::array{deep};
  for (const json::value& payload :
       {json::value("\u2028 \U0001F600 \x01\x7F \xEF\xBF\xBD"), json::value(std::string(1'000'000, 'x')), deep,
        json::value(""), json::value(json::object{}), json::value(nullptr), json::value(1.5), json::value(-1),
        json::value(18'446'744'073'709'551'615ULL)}) {
    REQUIRE(bob->send(letter(payload)).ok());
    const auto got = setting.recv(*bob);
    REQUIRE(got->has_value());
    CHECK((*got)->message.at("payload") == payload);
    REQUIRE(bob->acknowledge((*got)->ticket).ok());
  }
  const auto refused = bob->send(letter(json::value(std::string(5'000'000, 'x'))));
  CHECK(refused.error().code == "payload.too_large");
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("A name is never a path") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  for (const char* name : {"", "..", "../x", "/etc", "tmp", "tasks", "a/b", "-x", ".ada", "a b"}) {
    MessageDraft one = letter(1, name);
    CHECK(ada->send(one).error().code == "name.invalid");
    CHECK(MaildirOperations::open(setting.scratch.path().string(), name, setting.files, setting.clock,
                                  setting.io.get_executor())
              .error()
              .code == "name.invalid");
  }
  setting.put("ada/new/x.json", R"({"id": "../../evil", "payload": 1, "ts": 1})");
  CHECK(setting.drain(*ada) == std::vector<std::string>{"1"});
  CHECK(setting.names("ada/cur") == std::vector<std::string>{"x.json"});
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("Links, folders and files of others are no messages; a root of others is no root") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("secret", foreign("1", 1, "1"));
  std::filesystem::create_directories(setting.scratch.path("bob/new/folder.json"));
  std::filesystem::create_symlink(setting.scratch.path("secret"), setting.scratch.path("bob/new/link.json"));
  REQUIRE(::mkfifo(setting.scratch.path("bob/new/fifo.json").c_str(), 0600) == 0);
  setting.put("bob/new/good.json", foreign("2", 2, "2"));
  CHECK(setting.drain(*bob) == std::vector<std::string>{"2"});
  CHECK(bob->inbox()->at("unreadable").as_array().size() == 3);
  std::filesystem::permissions(setting.scratch.path(), std::filesystem::perms::all);
  CHECK(setting.recv(*bob).error().code == "dir.untrusted");
  CHECK(MaildirOperations::open("/nonexistent/x", "bob", setting.files, setting.clock, setting.io.get_executor())
            .error()
            .code == "root.missing");
}

TEST_CASE("A file that does not parse hides no neighbor, keeps its bytes, and is read when it has become whole") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  const std::string whole = foreign("1", 1, "\"whole\"");
  setting.put("bob/new/a.json", whole.substr(0, 30));
  setting.put("bob/new/b.json", foreign("2", 2, "2"));
  CHECK(setting.drain(*bob) == std::vector<std::string>{"2"});
  CHECK(setting.bytes("bob/new/a.json") == whole.substr(0, 30));
  CHECK(bob->inbox()->at("unreadable").as_array().size() == 1);
  setting.put("bob/new/a.json", whole);
  CHECK(setting.drain(*bob) == std::vector<std::string>{"\"whole\""});
  CHECK_FALSE(bob->inbox()->contains("unreadable"));
}

TEST_CASE("What a peer sends twice arrives once, and both copies are kept") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("bob/new/00000000000000000001-7.json", foreign("7", 1, "7"));
  setting.put("bob/new/00000000000000000002-7.json", foreign("7", 2, "7"));
  CHECK(setting.drain(*bob) == std::vector<std::string>{"7"});
  setting.put("bob/new/00000000000000000003-7.json", foreign("7", 3, "7"));  // later, and in another process
  auto again = setting.actor("bob");
  CHECK(setting.drain(*again).empty());
  setting.put("bob/new/00000000000000000003-7.json", foreign("7", 3, "7"));  // under a name that is taken
  CHECK(setting.drain(*again).empty());
  CHECK(setting.names("bob/cur").size() == 4);
  setting.put("bob/cur/00000000000000000009-8.json", foreign("other", 3, "0"));  // a name that lies
  setting.put("bob/new/00000000000000000004-8.json", foreign("8", 4, "8"));
  setting.clock.advance(milliseconds(2000));
  CHECK(setting.drain(*again) == std::vector<std::string>{"8"});
}

TEST_CASE("Two messages with one id are two messages, and so are two equal ones without an id") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("bob/new/1.json", foreign("7", 1, "1"));
  setting.put("bob/new/2.json", foreign("7", 2, "2"));
  setting.put("bob/new/3.json", foreign("7", 3, "1"));
  setting.put("bob/new/4.json", R"({"payload": 4, "ts": 4})");
  setting.put("bob/new/5.json", R"({"payload": 4, "ts": 4})");
  CHECK(setting.drain(*bob) == std::vector<std::string>{"1", "2", "4", "4"});
  setting.put("bob/new/6.json", foreign("7", 6, "2"));  // either is known by another process too
  setting.put("bob/new/7.json", foreign("7", 7, "1"));
  CHECK(setting.drain(*setting.actor("bob")).empty());
  CHECK(setting.names("bob/cur").size() == 7);
}

TEST_CASE("A name that lies does not hide what is known under another") {
  MaildirSetting setting;
  setting.put("bob/cur/1-8.json", foreign("other", 1, "0"));
  setting.put("bob/cur/taken.json", foreign("8", 1, "8"));
  setting.put("bob/new/2-8.json", foreign("8", 1, "8"));
  CHECK(setting.drain(*setting.actor("bob")).empty());
}

TEST_CASE("A message that goes bad after it was met stands in nobody's way") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  for (const char* n : {"1", "2", "3"}) setting.put(std::string("bob/new/") + n + ".json", foreign(n, std::stoi(n), n));
  const auto met = setting.recv(*bob, {"nothing", {}});
  REQUIRE(met.ok());
  setting.put("bob/new/1.json", foreign("1", 1, "1") + std::string(MaildirRoot::most_bytes, ' '));
  std::filesystem::remove(setting.scratch.path("bob/new/2.json"));
  std::filesystem::create_symlink("3.json", setting.scratch.path("bob/new/2.json"));
  CHECK(setting.drain(*bob) == std::vector<std::string>{"3"});
  CHECK(bob->inbox()->at("unreadable").as_array().size() >= 1);
  CHECK(setting.names("bob/new") == std::vector<std::string>{"1.json", "2.json"});
  setting.put("bob/new/1.json", foreign("1", 1, "1"));
  CHECK(setting.drain(*bob) == std::vector<std::string>{"1"});
}

TEST_CASE("Another reader of the same actor takes it first: there is nothing to acknowledge") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("bob/new/1.json", foreign("1", 1, "1"));
  const auto got = setting.recv(*bob);
  REQUIRE(got->has_value());
  std::filesystem::rename(setting.scratch.path("bob/new/1.json"), setting.scratch.path("bob/cur/1.json"));
  CHECK(bob->acknowledge((*got)->ticket).ok());
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("Only what fits is received: a type, the answer to a message") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  setting.put("bob/new/1.json", foreign("1", 1, "1"));
  setting.put("bob/new/2.json", foreign("2", 2, "2", R"(, "in_reply_to": "77", "expires_at": 1)"));
  setting.put("bob/new/3.json", foreign("3", 3, "3", R"(, "in_reply_to": null)"));
  CHECK_FALSE(setting.recv(*bob, {"handoff", {}})->has_value());
  CHECK_FALSE(setting.recv(*bob, {{}, "78"})->has_value());
  CHECK((*setting.recv(*bob, {{}, "77"}))->message.at("payload") == json::value(2));
  CHECK((*setting.recv(*bob, {"ack", {}}))->message.at("payload") == json::value(1));
}

TEST_CASE("Whoever waits is woken by the kernel, also by a file that is copied into place") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  for (const bool copied : {false, true}) {
    asio::steady_timer timer(setting.io, milliseconds(200));
    timer.async_wait([&](const auto&) {
      if (copied)
        setting.put("bob/new/copied.json", foreign("c", 1, "1"));
      else
        REQUIRE(ada->send(letter(1)).ok());
    });
    // That it is the kernel and not the timer is seen in the system calls: tests/integration/test_box.py.
    const auto got = setting.recv(*bob, {}, std::chrono::hours(1));
    REQUIRE(got->has_value());
    REQUIRE(bob->acknowledge((*got)->ticket).ok());
  }
  const SteadyTime before = std::chrono::steady_clock::now();  // clock: a lower bound; a slow machine only adds to it
  CHECK_FALSE(setting.recv(*bob, {}, milliseconds(50))->has_value());
  CHECK(std::chrono::steady_clock::now() - before >= milliseconds(50));  // clock: a lower bound, see above
}

TEST_CASE("Who began to wait last is served first, and who waits for something else holds nobody up") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  std::vector<std::optional<Result<std::optional<HandOut>>>> got(3);
  const auto has = [&](std::size_t n) { return got[n] && got[n]->ok() && (*got[n])->has_value(); };
  const auto wait = [&](std::size_t n, Filter filter, milliseconds within) {
    asio::co_spawn(setting.io, keep_result(bob->recv(std::move(filter), within), got[n]), [](std::exception_ptr) {});
    setting.io.restart();
    setting.io.poll();
  };
  const auto run = [&](auto until) {
    CHECK(holds_after(until, [&] {
      setting.io.restart();
      setting.io.run_for(milliseconds(10));  // clock: until the condition is checked again
    }));
  };
  wait(0, {}, std::chrono::hours(1));
  wait(1, {}, std::chrono::hours(1));
  wait(2, {"answer", {}}, milliseconds(1500));
  setting.put("bob/new/1-one.json", foreign("c", 1, "1"));
  run([&] { return has(0) || has(1); });
  CHECK(has(1));
  CHECK_FALSE(has(0));
  run([&] { return got[2].has_value(); });  // its time is over, with nothing: the one that is left looks on
  CHECK_FALSE(has(0));
  setting.put("bob/new/2-two.json", foreign("d", 2, "2"));
  run([&] { return has(0); });
  CHECK(has(0));
}

TEST_CASE("A wait that is canceled has taken nothing") {
  MaildirSetting setting;
  auto bob = setting.actor("bob");
  asio::cancellation_signal stop;
  bool ended = false;
  std::optional<Result<std::optional<HandOut>>> got;
  asio::co_spawn(setting.io, keep_result(bob->recv({}, std::chrono::hours(1)), got),
                 asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) { ended = true; }));
  setting.io.poll();
  CHECK_FALSE(ended);
  stop.emit(asio::cancellation_type::terminal);
  setting.io.restart();
  CHECK(holds_after([&] { return ended; }, [&] {
    setting.io.restart();
    setting.io.run_for(milliseconds(10));  // clock: until the condition is checked again
  }));
  CHECK_FALSE((got && got->ok() && (*got)->has_value()));
  REQUIRE(bob->send(letter(1)).ok());
  CHECK((*setting.recv(*bob))->attempts == 1);
}

TEST_CASE("A call that fails while a message is sent leaves it sent or not, never half, and says so") {
  std::set<std::string> outcomes;
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MaildirSetting setting;
    auto ada = setting.actor("ada");
    auto bob = setting.actor("bob");
    CHECK_FALSE(setting.recv(*bob)->has_value());
    setting.files.set(fault);
    const auto sent = ada->send(letter(1));
    const bool fired = setting.files.fired();
    setting.files.heal();
    const std::size_t there = setting.drain(*bob).size();
    CHECK(there <= 1);
    if (sent.ok()) CHECK(there == 1);
    outcomes.insert(sent.ok() ? "sent" : "error");
    return fired;
  });
  CHECK(met > 20);
  CHECK(outcomes.contains("error"));
}

TEST_CASE("A call that fails while a message is received loses nothing, and a repeat is labeled") {
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MaildirSetting setting;
    auto bob = setting.actor("bob");
    REQUIRE(bob->send(letter(1)).ok());
    setting.files.set(fault);
    const auto got = setting.recv(*bob);
    const bool shown = got.ok() && got->has_value();
    const bool done = shown && bob->acknowledge((*got)->ticket).ok();
    const bool fired = setting.files.fired();
    setting.files.heal();
    bob.reset();
    auto next = setting.actor("bob");
    const auto again = setting.recv(*next);
    REQUIRE(again.ok());
    if (!shown) CHECK(again->has_value());
    if (again->has_value() && shown) CHECK((*again)->attempts == 2);
    if (done) CHECK_FALSE(again->has_value());
    return fired;
  });
  CHECK(met > 40);
}

TEST_CASE("Killed at any call of sending, receiving and acknowledging: nothing lost, repeats labeled") {
  const auto nothing = [](MaildirSetting&) {};
  const unsigned sends = with_every_kill(
      nothing, [](MaildirSetting& setting) { send_one(setting); },
      [](MaildirSetting& setting, bool killed) {
        auto bob = setting.actor("bob");
        const std::size_t there = setting.drain(*bob).size();
        CHECK((killed ? there <= 1 : there == 1));
      });
  CHECK(sends > 10);

  bool shown = false;
  const unsigned receives = with_every_kill(
      send_one,
      [&](MaildirSetting& setting) {
        shown = false;
        auto bob = setting.actor("bob");
        const auto got = setting.recv(*bob);
        shown = true;
        const Status done = bob->acknowledge((*got)->ticket);
        REQUIRE(done.ok());
      },
      [&](MaildirSetting& setting, bool killed) {
        auto bob = setting.actor("bob");
        const auto again = setting.recv(*bob);
        REQUIRE(again.ok());
        if (!shown) CHECK(again->has_value());
        if (shown && again->has_value()) CHECK((*again)->attempts == 2);
        if (!killed) CHECK_FALSE(again->has_value());
        CHECK(setting.names("bob/new").size() + setting.names("bob/cur").size() == 1);
      });
  CHECK(receives > 20);
}

TEST_CASE("What a killed process left in tmp goes after a day, what others left stays") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  for (const char* name : {".ip-1.tmp", ".offer-2", ".3.tmp", "peer.json"})
    setting.put(std::string("tmp/") + name, "x");
  REQUIRE(ada->post("task", 1).ok());
  REQUIRE(ada->tasks().sweep().ok());
  CHECK(setting.names("tmp").size() == 4);
  setting.clock.advance(std::chrono::hours(25));
  REQUIRE(ada->tasks().sweep().ok());
  CHECK(setting.names("tmp") == std::vector<std::string>{".3.tmp", ".offer-2", "peer.json"});  // its message may stand
  setting.clock.advance(std::chrono::hours(30 * 24));
  REQUIRE(ada->tasks().sweep().ok());
  CHECK(setting.names("tmp") == std::vector<std::string>{".3.tmp", "peer.json"});
}

}  // namespace inbox_poller::maildir_mail_test

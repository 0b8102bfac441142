// A team whose mail is in Redis, as far as the port's suite (tests/conformance) does not say it: others who read for the lead,
// what is too long, who is there, an engine that is away. Where there is no redis-server, these say nothing.
#include "poller/broker/redis_mailbox.hpp"
#include "tests/unit/poller/broker/redis_setting.hpp"

namespace inbox_poller::redis_team_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using std::chrono::seconds;

namespace {

struct RedisTeamSetting : RedisSetting {
  ManualClock steady;
  std::unique_ptr<RedisMailbox> mailbox;

  RedisTeamSetting() { mailbox = open(shared_redis().address(team)); }
  std::unique_ptr<RedisMailbox> open(const config::RedisAddress& address, const std::string& reader = "daemon-1") {
    RedisTeamSettings settings;
    settings.address = address;
    settings.team = "pair";
    settings.lead = "boss";
    settings.reader = reader;
    return std::make_unique<RedisMailbox>(steady, settings);
  }
  static boost::asio::awaitable<bool> refreshed(RedisMailbox& mailbox) {
    co_await mailbox.sync();
    co_return true;
  }
  static void look(RedisMailbox& mailbox) { static_cast<void>(run_awaitable(refreshed(mailbox))); }
  /// What a poll shows of the lead's box and consumes; "?" for what is no letter.
  std::vector<std::string> texts(RedisMailbox& from) {
    look(from);
    const auto batch = run_awaitable(from.receive("boss", Access::exclusive, 100));
    std::vector<std::string> found;
    for (const auto& one : batch.taken) {
      const auto decoded = from.decode(one.bytes);
      found.push_back(decoded ? decoded->message.text : "?" + std::to_string(one.bytes.size()));
    }
    static_cast<void>(run_awaitable(from.ack("boss", std::vector<Ack>(batch.taken.size(), Ack::ack))));
    return found;
  }
  std::vector<std::string> texts() { return texts(*mailbox); }
  bool has_news() {
    look(*mailbox);
    const auto news = mailbox->ready_boxes();
    REQUIRE(news.ok());
    return std::any_of(news->begin(), news->end(),
                       [](const ReadyBox& one) { return one.box == "boss" && one.changed; });
  }
  void write(const std::string& bytes) {
    REQUIRE(direct.call(RedisCommand{"XADD", keys.stream("boss", "box"), "*", "e", bytes}).ok());
  }
  /// The daemon that looked last did not look for 15 s.
  void gone() { REQUIRE(direct.call(RedisCommand{"DEL", keys.of("served:boss")}).ok()); }
  std::string people(RedisMailbox& of) {
    const auto roster = of.roster();
    if (!roster) return roster.error().code;
    std::string found;
    for (const auto& one : roster->members) found += one.name + ' ';
    for (const auto& one : roster->unreachable) found += '!' + one.name + ' ';
    return found;
  }
};

}  // namespace

TEST_CASE("what another reader of the lead is offered in Redis is not taken, and is when that offer is over") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  auto boss = at.actor("boss"), ada = at.actor("ada");
  REQUIRE(ada->send({"boss", "message", "one", {}}).ok());
  REQUIRE(at.folder.recv(*boss)->has_value());
  REQUIRE(ada->send({"boss", "message", "two", {}}).ok());
  CHECK(at.texts() == std::vector<std::string>{"two"});
  CHECK(at.has_news());
  CHECK(at.texts().empty());
  at.age_offers("boss");
  CHECK(at.texts() == std::vector<std::string>{"one"});
  CHECK_FALSE(at.has_news());
}

TEST_CASE("what a daemon was shown is not shown to another one, and comes again to the next of its own") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  REQUIRE(at.actor("ada")->send({"boss", "message", "one", {}}).ok());
  at.look(*at.mailbox);
  CHECK(run_awaitable(at.mailbox->receive("boss", Access::exclusive, 100)).taken.size() == 1);
  at.gone();
  CHECK(at.texts(*at.open(shared_redis().address(at.team), "daemon-2")).empty());
  at.gone();
  CHECK(at.texts(*at.open(shared_redis().address(at.team))) == std::vector<std::string>{"one"});
}

TEST_CASE("of two daemons for one actor the second takes nothing and says why, until the first does not look any more") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  at.look(*at.mailbox);
  REQUIRE(at.actor("ada")->send({"boss", "message", "one", {}}).ok());
  const auto second = at.open(shared_redis().address(at.team), "daemon-2");
  CHECK(at.texts(*second).empty());
  REQUIRE_FALSE(second->ready_boxes().ok());
  CHECK(second->ready_boxes().error().message.starts_with("another daemon (daemon-1) delivers the mail of boss"));
  const auto left = at.direct.call(RedisCommand{"PTTL", at.keys.of("served:boss")});
  CHECK((left->as_number() > 0 && left->as_number() <= 15'000));
  at.gone();
  CHECK(at.texts(*second) == std::vector<std::string>{"one"});
  CHECK(at.texts().empty());
  CHECK_FALSE(at.mailbox->ready_boxes().ok());
}

TEST_CASE("an entry that is too long or says nothing hides no neighbor, and is kept by its beginning") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  REQUIRE(at.actor("ada")->send({"boss", "message", "one", {}}).ok());
  at.write(std::string(std::size_t{5} << 20, 'x'));
  REQUIRE(at.direct.call(RedisCommand{"XADD", at.keys.stream("boss", "box"), "*", "what", "is this"}).ok());
  REQUIRE(at.actor("ada")->send({"boss", "message", "two", {}}).ok());
  CHECK(at.texts() == std::vector<std::string>{"one", "?65536", "?12", "two"});
  CHECK(at.texts().empty());
}

TEST_CASE("whoever was met in Redis is there, before his first letter is shown and after all was lost") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  at.look(*at.mailbox);
  CHECK(at.people(*at.mailbox).empty());
  at.write(R"({"id": "1", "from": "script", "type": "message", "payload": "hi"})");
  at.write(R"({"id": "2", "from": "script", "type": "message", "payload": "there"})");
  CHECK(at.texts().empty());
  CHECK(at.texts().empty());
  CHECK(at.mailbox->roster_changed());
  CHECK(at.people(*at.mailbox) == "script ");
  CHECK(at.texts() == std::vector<std::string>{"hi", "there"});
  REQUIRE(at.direct.call(RedisCommand{"SADD", at.keys.of("boxes"), "ada", "foo.bar"}).ok());
  at.look(*at.mailbox);
  CHECK(at.people(*at.mailbox) == "ada script !foo.bar ");
  REQUIRE(at.direct.call(RedisCommand{"DEL", at.keys.of("boxes"), at.keys.stream("boss", "box")}).ok());
  at.look(*at.mailbox);
  CHECK(at.people(*at.mailbox) == "ada script !foo.bar ");
  CHECK_FALSE(at.mailbox->roster_changed());
  auto later = at.open(shared_redis().address(at.team));
  later->remember_roster(at.mailbox->roster_copy());
  CHECK(at.people(*later) == "ada script !foo.bar ");
}

TEST_CASE("beside a Redis that is away the team is who it was, and why nothing comes is said") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  auto address = shared_redis().address(at.team);
  address.path += "-nobody";
  auto alone = at.open(address);
  at.look(*alone);
  CHECK(at.people(*alone) == "roster.unreadable");
  alone->remember_roster({R"(["ada", "boss", 7])", 0});
  CHECK(at.people(*alone) == "ada ");
  CHECK(alone->ready_boxes().error().message.find("is not reached") != std::string::npos);
  const auto batch = run_awaitable(alone->receive("boss", Access::exclusive, 10));
  CHECK(batch.state == BoxState::fault);
  CHECK(batch.detail.find("is not reached") != std::string::npos);
  const auto posted = alone->post("ada", schema::Message{"boss", "x", "", "2026-02-07T15:20:10.000Z", "", "i"});
  CHECK(posted.put == WriteStatus::fault);
  CHECK(posted.detail.find("is not reached") != std::string::npos);
  CHECK_FALSE(alone->counts().ok());
}

TEST_CASE("what was finished in Redis is told once, and what is over is given back at the next look") {
  if (!shared_redis().runs()) return;
  RedisTeamSetting at;
  auto ada = at.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  at.age_claims();
  const auto pass = [&] {
    at.steady.advance(seconds(3));
    at.look(*at.mailbox);
  };
  pass();
  CHECK(at.mailbox->sweep()->gone.empty());
  CHECK(at.mailbox->finished(0)->empty());
  pass();
  const auto gone = at.mailbox->sweep();
  REQUIRE(gone->gone.size() == 1);
  CHECK(schema::identity_of(gone->gone.front().task) == id);
  CHECK(gone->gone.front().task.text("swept_from") == "ada");
  CHECK(at.mailbox->counts()->open == 1);
  CHECK(claimed_id(*ada) == id);
  REQUIRE(ada->complete(id, 5).ok());
  pass();
  const auto told = at.mailbox->finished(0);
  REQUIRE(told->size() == 1);
  CHECK(told->front().task.object().at("result") == boost::json::value(5));
  pass();
  CHECK(at.mailbox->finished(0)->empty());
}

}  // namespace inbox_poller::redis_team_test

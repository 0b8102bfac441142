// Mail and tasks in Redis, as far as they are not what a folder does (tests/conformance): offers that end, answers that are
// lost, servers that are killed. A server of this process's own; where there is none, these say nothing.
#include "poller/broker/box_copy.hpp"
#include "poller/broker/redis_scripts.hpp"
#include "tests/unit/poller/broker/redis_setting.hpp"

namespace inbox_poller::redis_box_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("What a killed process was offered comes again when its offer is over, and says so; a living one keeps it") {
  if (!shared_redis().runs()) return;
  RedisSetting setting;
  auto ada = setting.actor("ada");
  REQUIRE(ada->send({"ada", "note", "precious", {}}).ok());
  auto offered = setting.folder.recv(*ada);
  REQUIRE(offered->has_value());
  auto other = setting.actor("ada");
  CHECK_FALSE(setting.folder.recv(*other)->has_value());
  setting.age_offers("ada");
  auto again = setting.folder.recv(*other);
  REQUIRE(again->has_value());
  CHECK((*again)->attempts == 2);
  other.reset();  // gives it back at once
  other = setting.actor("ada");
  CHECK((*setting.folder.recv(*other))->attempts == 3);
}

TEST_CASE("Whoever waits is woken by what another process sends, and by what is given back") {
  if (!shared_redis().runs()) return;
  RedisSetting setting;
  auto bob = setting.actor("bob");
  auto ada = setting.actor("ada");
  REQUIRE(setting.folder.recv(*bob).ok());
  boost::asio::steady_timer later(setting.folder.io, milliseconds(300));
  later.async_wait([&](const boost::system::error_code&) { REQUIRE(ada->send({"bob", "note", "now", {}}).ok()); });
  auto got = setting.folder.recv(*bob, {}, seconds(60));
  REQUIRE(got->has_value());
  CHECK((*got)->message.at("payload") == json::value("now"));
  later.expires_after(milliseconds(100));
  later.async_wait([&](const boost::system::error_code&) { bob->requeue((*got)->ticket); });
  auto again = setting.folder.recv(*bob, {}, seconds(60));
  REQUIRE(again->has_value());
  CHECK((*again)->attempts == 2);
}

TEST_CASE("A claim that was lost is not the later one of the same actor: its number tells") {
  if (!shared_redis().runs()) return;
  RedisSetting setting;
  auto slow = setting.actor("bob");
  const std::string id = id_of(slow->post("task", 1));
  CHECK(claimed_id(*slow) == id);
  setting.age_claims();
  REQUIRE(slow->tasks().sweep()->gone.size() == 1);
  auto quick = setting.actor("bob");
  CHECK(claimed_id(*quick) == id);
  CHECK(slow->heartbeat(id, a_lease).error().code == "task.not_held");
  CHECK(slow->complete(id, "old").error().code == "task.not_held");
  CHECK(quick->complete(id, "new")->at("result") == json::value("new"));
}

TEST_CASE("A step that was carried out and whose answer was lost is not carried out twice") {
  if (!shared_redis().runs()) return;
  RedisSetting setting;
  auto ada = setting.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  const std::vector<std::string> keys{setting.keys.task(id), setting.keys.of("tasks"), setting.keys.of("leases"),
                                      setting.keys.of("done"), setting.keys.of("dead")};
  const std::vector<std::string> claim{"1", "claimed", "{}", "ada", "1000", "0", "claim", "writer-1"};
  CHECK(setting.direct.call(scripts::change_task(), keys, claim)->at(0).as_number() == 1);
  CHECK(setting.direct.call(scripts::change_task(), keys, claim)->at(0).as_number() == 1);
  auto other = claim;
  other.back() = "writer-2";
  CHECK(setting.direct.call(scripts::change_task(), keys, other)->at(0).as_number() == 0);
  auto bob = setting.actor("bob");
  REQUIRE(ada->send({"bob", "note", 1, {}}).ok());
  const std::vector<std::string> call{setting.keys.stream("bob", "box"), setting.keys.of("boxes"), setting.keys.of("offer:this")};
  const std::vector<std::string> what{"bob", "10000", "0", "", "0", ""};
  const auto offered = setting.direct.call(scripts::offer(), call, what), offered_again = setting.direct.call(scripts::offer(), call, what);
  CHECK(offered->at(0).as_number() == 1);
  CHECK(offered_again->at(1).text == offered->at(1).text);
  CHECK(offered_again->at(2).as_number() == 1);
  CHECK(offered_again->at(3).text == offered->at(3).text);
  const std::vector<std::string> letter{"ada", "ada", "60000", "k", "1", "e", "{}"};
  const std::vector<std::string> to{setting.keys.mark("box", "ada", "1"), setting.keys.stream("ada", "box"), setting.keys.of("boxes")};
  const auto first = setting.direct.call(scripts::send(), to, letter);
  const auto second = setting.direct.call(scripts::send(), to, letter);
  CHECK(first->at(0).as_number() == 1);
  CHECK(second->at(0).as_number() == 0);
  CHECK(first->at(1).text == second->at(1).text);
}

TEST_CASE("A team is copied from a folder to Redis and back, in its order, and twice is once") {
  if (!shared_redis().runs()) return;
  RedisSetting setting;
  MaildirSetting source, target;
  auto ada = source.actor("ada");
  auto bob = source.actor("bob");
  for (int i = 0; i < 60; ++i) REQUIRE(ada->send({"bob", "note", i, {}}).ok());
  const std::string open = id_of(ada->post("task", json::parse(R"({"n": 1e2})"), 3));
  const std::string held = id_of(ada->post("task", 2, 9));
  CHECK(claimed_id(*bob) == held);
  const std::string finished = id_of(ada->post("task", 3, 10));
  CHECK(claimed_id(*ada) == finished);
  REQUIRE(ada->complete(finished, "r").ok());
  CHECK(bob->complete(finished, "late").error().code == "task.done");
  source.put("tasks/open/odd.json", R"({"id": "../../evil", "n": 12345678901234567890123, "payload": 1, "ts": 5})");

  const auto from = folder_store(source.files, source.clock, source.scratch.path().string());
  const auto between = redis_store(shared_redis().address(setting.team), seconds(20));
  const auto to = folder_store(target.files, target.clock, target.scratch.path().string());
  for (const std::size_t new_ones : {std::size_t{1}, std::size_t{0}}) {
    const auto there = copy_boxes(*from, *between);
    REQUIRE(there.ok());
    CHECK(there->messages == 60 * new_ones);
    CHECK(there->tasks == 5 * new_ones);
    CHECK(there->were_there == 65 * (1 - new_ones));
    const auto back = copy_boxes(*between, *to);
    REQUIRE(back.ok());
    CHECK(back->messages == 60 * new_ones);
    CHECK(back->tasks == 5 * new_ones);
  }
  auto over = setting.actor("bob");
  const auto drained = setting.folder.drain(*over);
  auto reader = target.actor("bob");
  CHECK(drained == target.drain(*reader));
  CHECK(drained.size() == 60);
  CHECK(drained[17] == "17");
  const auto before = ada->tasks().all(), after = reader->tasks().all(), in_redis = over->tasks().all();
  std::map<std::string, std::string> one, other, third;
  for (const auto& [tasks, into] : {std::pair(&*before, &one), std::pair(&*after, &other), std::pair(&*in_redis, &third)})
    for (const TaskFile& task : *tasks) (*into)[task.task.encode()] = task.holder;
  CHECK(one == other);
  CHECK(one == third);
  CHECK(one.size() == 5);
  CHECK(reader->complete(held, "by its holder").ok());
  CHECK(claimed_id(*over) == open);
  // What was taken does not come again with the next copy.
  CHECK(copy_boxes(*between, *to)->messages == 0);
}

TEST_CASE("An engine that is away, forgets or asks for a password is told in words, and nothing was done") {
  RedisServer forgets({"--appendonly", "no"});
  if (!forgets.runs()) return;
  MaildirSetting setting;
  const SystemClock clock;
  const auto open = [&](const config::RedisAddress& address, milliseconds patience) {
    return RedisBox::open(address, "ada", clock, setting.io.get_executor(), patience);
  };
  const Error unfit = open(forgets.address("t"), seconds(20)).error();
  CHECK(unfit.code == "redis.unfit");
  CHECK(unfit.message.find("appendonly") != std::string::npos);
  auto meant = open(forgets.address("t", "?accept_risks=redis-not-durable"), seconds(20));
  REQUIRE(meant.ok());
  CHECK((*meant)->worries().size() >= 1);
  forgets.kill();
  CHECK(open(forgets.address("t"), milliseconds(100)).error().code == "redis.down");
  const auto lost = setting.scratch.path("secret").string();
  CHECK(open(forgets.address("t", "?secret=" + lost), milliseconds(100)).error().message.find("hunter") == std::string::npos);
  spill(lost, "hunter2\n");
  std::filesystem::permissions(lost, std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  CHECK(read_secret(lost).error().code == "redis.denied");
  std::filesystem::permissions(lost, std::filesystem::perms::owner_read);
  CHECK(*read_secret(lost) == "hunter2");
}

TEST_CASE("A server that is killed and comes back is used again by whoever waits, and has lost nothing") {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  if (!server.runs()) return;
  MaildirSetting setting;
  const SystemClock clock;
  auto ada = RedisBox::open(server.address("t"), "ada", clock, setting.io.get_executor(), seconds(30));
  REQUIRE(ada.ok());
  REQUIRE((*ada)->send({"ada", "note", "before", {}}).ok());
  const std::string task = id_of((*ada)->post("task", 1));
  CHECK(claimed_id(**ada) == task);
  server.kill();
  server.start();
  auto got = setting.recv(**ada, {}, seconds(30));
  REQUIRE(got.ok());
  REQUIRE(got->has_value());
  CHECK((*got)->message.at("payload") == json::value("before"));
  CHECK((*ada)->acknowledge((*got)->ticket).ok());
  CHECK((*ada)->complete(task, 1).ok());
}

}  // namespace inbox_poller::redis_box_test

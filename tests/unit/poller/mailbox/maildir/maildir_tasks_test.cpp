// The task queue: one holder at a time, nothing lost, nothing done twice by us, every late result kept, and what peers
// leave half done is mended.
#include "tests/support/contains.hpp"
#include "tests/unit/poller/every_fault.hpp"
#include "tests/unit/poller/mailbox/maildir/maildir_setting.hpp"

namespace inbox_poller::maildir_tasks_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Where a task with that id stands, every copy, and what results are kept.
struct Traces {
  std::size_t open = 0, claimed = 0, given_back = 0, done = 0, dead = 0, late = 0;
  [[nodiscard]] std::size_t tasks() const { return open + claimed + given_back + done + dead; }
};

Traces traces_of(MaildirOperations& actor, const std::string& id) {
  Traces traces;
  const auto all = actor.tasks().all();
  REQUIRE(all.ok());
  for (const TaskFile& one : *all) {
    if (schema::identity_of(one.task) != id) continue;
    switch (one.place) {
      case TaskPlace::open: ++traces.open; break;
      case TaskPlace::claimed: ++traces.claimed; break;
      case TaskPlace::given_back: ++traces.given_back; break;
      case TaskPlace::done: ++traces.done; break;
      case TaskPlace::dead: ++(one.task.text("status") == "late" ? traces.late : traces.dead); break;
    }
  }
  return traces;
}

std::string name_of(const MaildirSetting& setting, const std::string& folder) {
  const auto names = setting.names(folder);
  REQUIRE(names.size() == 1);
  return names.front();
}

}  // namespace

TEST_CASE("A task goes from post to done, in the fields that the public stores write") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  CHECK(claimed_id(*bob) == "none");
  const auto posted = ada->post("task", json::parse(R"({"branch": "x"})"));
  const json::object open = setting.only("tasks/open");
  CHECK(open == *posted);
  CHECK(text_in(open, "status") == "open");
  CHECK(text_in(open, "from") == "ada");

  const auto claimed = bob->claim({}, a_lease);
  REQUIRE(claimed->has_value());
  CHECK(setting.names("tasks/open").empty());
  const json::object held = setting.only("tasks/claimed/bob");
  CHECK(held == **claimed);
  CHECK(text_in(held, "owner") == "bob");
  CHECK(held.at("lease_expires_at").as_double() - held.at("claimed_at").as_double() == Approx(120));
  CHECK(held.at("attempts") == json::value(1));
  CHECK(claimed_id(*ada) == "none");

  setting.clock.advance(seconds(60));
  const auto beaten = bob->heartbeat(id_of(posted), a_lease);
  CHECK(beaten->at("lease_expires_at").as_double() - held.at("claimed_at").as_double() == Approx(180));
  const auto done = bob->complete(id_of(posted), json::parse(R"({"merged": true})"));
  REQUIRE(done.ok());
  const json::object kept = setting.only("tasks/done");
  CHECK(kept == *done);
  CHECK(text_in(kept, "status") == "done");
  CHECK(kept.at("result").at("merged").as_bool());
  CHECK(kept.contains("completed_at"));
  CHECK(setting.names("tasks/claimed/bob").empty());
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("Tasks are claimed by priority, then as they were posted; or only those of a type") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  const std::string first = id_of(ada->post("task", 1));
  const std::string second = id_of(ada->post("review", 2));
  const std::string urgent = id_of(ada->post("task", 3, 5));
  const std::string idle = id_of(ada->post("task", 4, -1));
  setting.put("tasks/open/aaa.json", R"({"id": "old", "type": "task", "ts": 1})");
  CHECK(claimed_id(*ada, "review") == second);
  CHECK(claimed_id(*ada) == urgent);
  CHECK(claimed_id(*ada) == "old");
  CHECK(claimed_id(*ada) == first);
  CHECK(claimed_id(*ada) == idle);
  CHECK(claimed_id(*ada) == "none");
}

TEST_CASE("Fields that nobody here knows are kept through everything, in their own bytes") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  setting.put("tasks/open/1.json",
              R"({"id": "1", "n": 12345678901234567890123, "payload": {"deep": 1e999}, "status": "open"})");
  CHECK(claimed_id(*ada) == "1");
  REQUIRE(ada->heartbeat("1", a_lease).ok());
  REQUIRE(ada->abandon("1", "not mine").ok());
  CHECK(claimed_id(*ada) == "1");
  REQUIRE(ada->complete("1", nullptr).ok());
  const std::string bytes = setting.bytes("tasks/done/1.json");
  CHECK(bytes.find("\"n\": 12345678901234567890123,") != std::string::npos);
  CHECK(bytes.find("\"payload\": {\"deep\": 1e999},") != std::string::npos);
}

TEST_CASE("A lease that runs out gives back, in two steps; a beat in time keeps") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(100));
  CHECK(sweep_through(setting, *boss).empty());
  REQUIRE(ada->heartbeat(id, a_lease).ok());
  setting.clock.advance(seconds(100));
  CHECK(sweep_through(setting, *boss).empty());
  setting.clock.advance(seconds(30));
  CHECK(boss->tasks().sweep()->gone.empty());
  CHECK(setting.names("tasks/open").empty());
  CHECK(setting.names("tasks/claimed/ada").empty());
  CHECK(boss->tasks().sweep()->gone.empty());  // too soon
  setting.clock.advance(milliseconds(2000));
  const auto swept = boss->tasks().sweep();
  REQUIRE(swept->gone.size() == 1);
  const json::object open = setting.only("tasks/open");
  CHECK(text_in(open, "swept_from") == "ada");
  CHECK(open.contains("swept_at"));
  CHECK(open.at("attempts") == json::value(1));
  CHECK(setting.names("tmp").empty());
  CHECK(boss->heartbeat(id, a_lease).error().code == "task.not_held");
}

TEST_CASE("A task that is given back stands among the open or the claimed ones at every moment") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(130));
  // As other programs look: tasks/open/*.json and tasks/claimed/*/*.json.
  const auto is_visible = [&] {
    std::size_t found = setting.names("tasks/open").size();
    for (const std::string& folder : setting.names("tasks/claimed")) found += setting.names("tasks/claimed/" + folder).size();
    return found == 1;
  };
  unsigned calls = 0, hidden = 0;
  setting.files.before_any([&] {
    ++calls;
    hidden += is_visible() ? 0 : 1;
  });
  REQUIRE(boss->tasks().sweep()->gone.empty());
  CHECK(ada->complete(id, 1).error().code == "task.not_held");
  CHECK(boss->inbox()->at("tasks").at("claimed") == json::value(1));
  setting.clock.advance(seconds(3));
  REQUIRE(boss->tasks().sweep()->gone.size() == 1);
  setting.files.before_any({});
  CHECK(calls > 20);
  CHECK(hidden == 0);
  CHECK(setting.names("tasks/claimed") == std::vector<std::string>{"ada"});
}

TEST_CASE("A lease that ended within the grace asks for another sweep") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  CHECK(claimed_id(*ada) == "none");
  const std::string id = id_of(ada->post("task", 1));
  REQUIRE(ada->claim({}, seconds(10))->has_value());
  const auto too_early = boss->tasks().sweep();
  CHECK((too_early->gone.empty() && !too_early->has_begun));
  setting.clock.advance(milliseconds(10'500));
  const auto within_grace = boss->tasks().sweep();
  CHECK((within_grace->gone.empty() && within_grace->has_begun));
  CHECK(setting.names("tasks/claimed/ada").size() == 1);
  setting.clock.advance(between_sweeps);
  REQUIRE(boss->tasks().sweep()->gone.empty());
  setting.clock.advance(between_sweeps);
  const auto after = boss->tasks().sweep();
  CHECK((after->gone.size() == 1 && !after->has_begun));
  CHECK(claimed_id(*boss) == id);
}

TEST_CASE("A claim without a lease is given back after two leases, however old its file looks") {
  MaildirSetting setting;
  auto boss = setting.actor("boss");
  setting.put("tasks/claimed/eve/7.json", R"({"id": "7", "status": "open", "ts": 5})");
  std::filesystem::last_write_time(setting.scratch.path("tasks/claimed/eve/7.json"),
                                   std::filesystem::file_time_type::clock::now() - hours(100));
  CHECK(sweep_through(setting, *boss).empty());
  setting.clock.advance(seconds(230));
  CHECK(sweep_through(setting, *boss).empty());
  setting.clock.advance(seconds(10));
  CHECK(sweep_through(setting, *boss).size() == 1);
  CHECK(text_in(setting.only("tasks/open"), "swept_from") == "eve");
}

TEST_CASE("A beat that was under way while its claim was taken away: the holder lives") {
  MaildirSetting setting;
  auto boss = setting.actor("boss");
  const std::string claim =
      R"({"id": "7", "status": "claimed", "owner": "eve", "claimed_at": 1, "lease_expires_at": 2})";
  setting.put("tasks/claimed/eve/7.json", claim);
  REQUIRE(boss->tasks().sweep()->gone.empty());
  CHECK(setting.names("tasks/claimed/eve").empty());
  setting.put("tasks/claimed/eve/7.json", claim);  // what it had read, with whatever it wrote
  setting.clock.advance(seconds(3));
  CHECK(boss->tasks().sweep()->gone.empty());
  CHECK(setting.names("tasks/open").empty());
  CHECK(setting.names("tasks/claimed/eve").size() + setting.names("tasks/claimed/sweep.eve").size() == 1);
}

TEST_CASE("A queue in which nothing is claimed is swept again when somebody may have claimed, and once a minute") {
  MaildirSetting setting;
  const auto ada = setting.actor("ada"), boss = setting.actor("boss");
  id_of(ada->post("job", 1, {}));
  setting.clock.advance(std::chrono::seconds(10));
  int lists = 0;
  const auto sweep = [&] {
    lists = 0;
    setting.clock.advance(std::chrono::seconds(2));
    REQUIRE(boss->tasks().sweep().ok());
    return lists > 0;
  };
  setting.files.before(Call::list, [&](const std::string&) { ++lists; });
  sweep();
  for (int i = 0; i < 10; ++i) CHECK_FALSE(sweep());
  SECTION("it is claimed, and its lease runs out") {
    REQUIRE(claimed_id(*ada) != "none");
    std::filesystem::last_write_time(setting.scratch.path("tasks/open"), std::filesystem::file_time_type::clock::now() +
                                                                             std::chrono::seconds(1));
    CHECK(sweep());
    CHECK(sweep());  // as long as it is held
    setting.clock.advance(std::chrono::minutes(10));
    CHECK(sweep_through(setting, *boss).size() == 1);
  }
  SECTION("a minute passes") {
    setting.clock.advance(std::chrono::minutes(1));
    CHECK(sweep());
    CHECK_FALSE(sweep());
  }
}

TEST_CASE("What a peer's sweep gave to somebody else meanwhile is not given back again") {
  MaildirSetting setting;
  auto boss = setting.actor("boss");
  setting.put("tasks/claimed/eve/7.json", R"({"id": "7", "owner": "eve", "claimed_at": 1, "lease_expires_at": 2})");
  REQUIRE(boss->tasks().sweep()->gone.empty());
  setting.put("tasks/claimed/bob/7.json", R"({"id": "7", "owner": "bob", "claimed_at": 1, "lease_expires_at": 9e9})");
  setting.clock.advance(seconds(3));
  CHECK(boss->tasks().sweep()->gone.empty());
  CHECK(setting.names("tasks/open").empty());
  CHECK(setting.names("tmp").empty());
}

TEST_CASE("A lease that is renewed between the sweep's look and its first step is put back") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(130));
  const std::string name = name_of(setting, "tasks/claimed/ada");
  setting.files.once_before(Call::move, "claimed/sweep.ada/" + name, [&] { REQUIRE(ada->heartbeat(id, a_lease).ok()); });
  CHECK(boss->tasks().sweep()->gone.empty());
  CHECK(name_of(setting, "tasks/claimed/ada") == name);
  CHECK(setting.names("tmp").empty());
  CHECK(ada->complete(id, 1).ok());
}

TEST_CASE("A result that comes too late is refused in words and kept") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(130));
  REQUIRE(sweep_through(setting, *bob).size() == 1);
  const auto open = ada->complete(id, "first");
  CHECK(open.error().code == "task.not_held");
  CHECK(open.error().message.find("kept in") != std::string::npos);
  CHECK(claimed_id(*bob) == id);
  const auto held = ada->complete(id, "second");
  CHECK(held.error().code == "task.not_held");
  CHECK(held.error().message.find("held by bob") != std::string::npos);
  REQUIRE(bob->complete(id, "result").ok());
  CHECK(ada->complete(id, "third").error().code == "task.done");
  CHECK(setting.names("tasks/dead").size() == 3);
  CHECK(traces_of(*ada, id).late == 3);
  CHECK(setting.only("tasks/done").at("result") == json::value("result"));
}

TEST_CASE("An id that no task ever had leaves nothing behind; the beginning of one is enough") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  for (const char* id : {"a1", "a2", "b", "bc"})
    setting.put(std::string("tasks/open/1-") + id + ".json", std::string(R"({"id": ")") + id + R"(", "status": "open"})");
  for (int i = 0; i < 4; ++i) claimed_id(*ada);
  for (int again = 0; again < 2; ++again) {
    CHECK(ada->complete("nonsense", 1).error().code == "task.unknown");
    CHECK(ada->complete("", 1).error().code == "mailbox.usage");
    CHECK(ada->complete("a", 1).error().message.find("a1, a2") != std::string::npos);
    CHECK(ada->heartbeat("", a_lease).error().code == "mailbox.usage");
  }
  CHECK(setting.names("tasks/dead").empty());
  CHECK(ada->heartbeat("b", a_lease)->at("id") == json::value("b"));
  CHECK(ada->complete("b", 1).ok());
  setting.put("tasks/dead/late-1.json", R"({"id": "bcd", "status": "late"})");
  CHECK(ada->abandon("bc", "why").ok());
  CHECK(claimed_id(*ada) == "bc");
  setting.put("tasks/open/2-long.json", R"({"id": "0123456789abcdef"})");
  CHECK(claimed_id(*ada) == "0123456789abcdef");
  setting.put("tasks/dead/late-2.json", R"({"id": "0123456789abffff", "status": "late"})");
  CHECK(ada->heartbeat("0123456789ab", a_lease).ok());
  CHECK(ada->complete("0123456789ab", 1).ok());
}

TEST_CASE("What was exchanged out and cannot go back is set aside, not deleted") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  const std::string name = name_of(setting, "tasks/claimed/ada");
  const std::string there = "tasks/claimed/ada/" + name;
  setting.files.once_before(Call::swap, name, [&] {
    setting.put("other", R"({"id": ")" + id + R"(", "status": "done", "result": "theirs"})");
    std::filesystem::rename(setting.scratch.path("other"), setting.scratch.path(there));
    setting.files.once_before(Call::stat_at, ".tmp", [&] {  // the look at what came out
      std::filesystem::create_directories(setting.scratch.path("tasks/done"));
      std::filesystem::rename(setting.scratch.path(there), setting.scratch.path("tasks/done/" + name));
    });
  });
  CHECK_FALSE(ada->complete(id, "ours").ok());
  std::string kept;
  for (const std::string& one : setting.names("tasks/dead")) kept += setting.bytes("tasks/dead/" + one);
  CHECK(kept.find("theirs") != std::string::npos);
  CHECK(kept.find("ours") != std::string::npos);
}

TEST_CASE("Another file under the name between our write and our move: a result is first, a beat is not") {
  for (const bool is_result : {true, false}) {
    MaildirSetting setting;
    auto ada = setting.actor("ada");
    const std::string id = id_of(ada->post("task", 1));
    CHECK(claimed_id(*ada) == id);
    const std::string name = name_of(setting, "tasks/claimed/ada");
    setting.files.once_before(Call::move, "done/" + name, [&] {
      setting.put("other", R"({"id": ")" + id + (is_result ? R"(", "status": "done", "result": "theirs"})"
                                                           : R"(", "status": "claimed", "owner": "ada"})"));
      std::filesystem::rename(setting.scratch.path("other"), setting.scratch.path("tasks/claimed/ada/" + name));
    });
    const auto done = ada->complete(id, "ours");
    CHECK(done.ok() != is_result);
    CHECK(setting.only("tasks/done").at("result") == json::value(is_result ? "theirs" : "ours"));
    CHECK(traces_of(*ada, id).late == (is_result ? 1 : 0));
    CHECK(traces_of(*ada, id).tasks() == 1);
  }
}

TEST_CASE("What its holder has written as done is done: the same result again is no error, another is late") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  for (const char* id : {"1", "2"})
    setting.put(std::string("tasks/claimed/ada/") + id + ".json",
                std::string(R"({"id": ")") + id + R"(", "status": "done", "owner": "ada", "result": {"n": [1]}})");
  CHECK(ada->complete("1", json::parse(R"({"n": [1]})")).ok());
  CHECK(setting.names("tasks/dead").empty());
  CHECK(ada->complete("2", "another").error().code == "task.done");
  CHECK(traces_of(*ada, "2").late == 1);
  CHECK(setting.names("tasks/done") == std::vector<std::string>{"1.json", "2.json"});
  CHECK(setting.bytes("tasks/done/2.json").find("another") == std::string::npos);
}

TEST_CASE("The reason why something is no task is no task either") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  setting.put("tasks/open/x.json", "no task");
  setting.clock.advance(hours(25));
  REQUIRE(ada->tasks().sweep().ok());
  const auto all = ada->tasks().all();
  REQUIRE(all->size() == 1);
  const auto refused = ada->tasks().requeue(schema::identity_of(all->front().task));
  CHECK(refused.error().message.find("tasks/dead/dead-x.json") != std::string::npos);
  CHECK(setting.names("tasks/open").empty());
}

TEST_CASE("Done is done: a copy of it that a peer left elsewhere is dropped and never claimed") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto bob = setting.actor("bob");
  const std::string id = id_of(ada->post("task", 1));
  const std::string name = name_of(setting, "tasks/open");
  CHECK(claimed_id(*ada) == id);
  const std::string claim = setting.bytes("tasks/claimed/ada/" + name);
  REQUIRE(ada->complete(id, "first").ok());
  setting.put("tasks/open/" + name, claim);
  CHECK(claimed_id(*bob) == "none");
  setting.put("tasks/open/other-name.json", claim);
  setting.clock.advance(seconds(2));
  CHECK(claimed_id(*bob) == "none");
  setting.put("tasks/claimed/eve/" + name, claim);  // died between writing done and unlinking claimed
  setting.clock.advance(seconds(130));
  CHECK(sweep_through(setting, *bob).empty());
  setting.put("tasks/claimed/ada/" + name, claim);
  CHECK(ada->complete(id, "second").error().code == "task.done");
  const Traces traces = traces_of(*ada, id);
  CHECK(traces.tasks() == 1);
  CHECK(traces.done == 1);
  CHECK(traces.late == 1);
}

TEST_CASE("A peer's sweep that steals a task between our write and our move: no second result") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  const std::string name = name_of(setting, "tasks/claimed/ada");
  setting.files.once_before(Call::move, "done/" + name, [&] {
    std::filesystem::rename(setting.scratch.path("tasks/claimed/ada/" + name),
                            setting.scratch.path("tasks/open/" + name));
  });
  CHECK(ada->complete(id, "late").error().code == "task.not_held");
  CHECK(traces_of(*ada, id).late == 1);
  CHECK(traces_of(*ada, id).open == 1);
}

TEST_CASE("What a peer changes in a claimed task between our look and our change is kept") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  const std::string name = "tasks/claimed/ada/" + name_of(setting, "tasks/claimed/ada");
  setting.files.once_before(Call::swap, name, [&] {
    std::filesystem::remove(setting.scratch.path(name));
    setting.put(name, R"({"id": ")" + id + R"(", "type": "task", "owner": "ada", "note": "of a peer"})");
  });
  CHECK(ada->heartbeat(id, a_lease).ok());
  CHECK_THAT(setting.bytes(name), Contains("of a peer") && Contains("lease_expires_at"));
}

TEST_CASE("Our own sweep that meets a completion under way finishes it") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(130));
  const std::string name = name_of(setting, "tasks/claimed/ada");
  setting.files.once_before(Call::move, "done/" + name, [&] { REQUIRE(boss->tasks().sweep().ok()); });
  CHECK(ada->complete(id, "in time").ok());
  CHECK(traces_of(*ada, id).done == 1);
  CHECK(traces_of(*ada, id).tasks() == 1);
}

TEST_CASE("Two tasks with one file name are two tasks") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  setting.put("tasks/open/x.json", R"({"id": "1", "ts": 1})");
  CHECK(claimed_id(*ada) == "1");
  setting.put("tasks/done/x.json", R"({"id": "2", "status": "done"})");
  REQUIRE(ada->complete("1", "one").ok());
  CHECK(traces_of(*ada, "1").done == 1);
  CHECK(traces_of(*ada, "2").done == 1);
  setting.put("tasks/open/x.json", R"({"id": "3", "ts": 1})");
  CHECK(claimed_id(*ada) == "3");
  setting.put("tasks/open/x.json", R"({"id": "4", "ts": 1})");
  CHECK(claimed_id(*ada) == "none");  // a name that ada holds
  REQUIRE(ada->abandon("3", "x").ok());
  CHECK(traces_of(*ada, "3").open == 1);
  CHECK(traces_of(*ada, "4").open == 1);
}

TEST_CASE("Attempts of peers count too, and no attempt counts twice") {
  MaildirSetting setting;
  auto boss = setting.actor("boss");
  for (int i = 0; i < 3; ++i) {
    for (const std::string& name : setting.names("tasks/open"))
      std::filesystem::remove(setting.scratch.path("tasks/open/" + name));
    const std::string attempts = i == 0 ? "" : ", \"attempts\": " + std::to_string(i);
    setting.put(
        "tasks/claimed/eve/7.json",
        R"({"id": "7", "owner": "eve", "status": "claimed", "claimed_at": 1, "lease_expires_at": 2)" + attempts + "}");
    REQUIRE(sweep_through(setting, *boss).size() == 1);
  }
  CHECK(traces_of(*boss, "7").dead == 1);
}

TEST_CASE("What is no task stays where it is for a day, and then goes among the dead with its bytes and the reason") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  setting.put("tasks/open/bad.json", "{\"id\": \"1\", nonsense");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  sweep_through(setting, *ada);
  CHECK(setting.names("tasks/open") == std::vector<std::string>{"bad.json"});
  setting.clock.advance(hours(25));
  REQUIRE(ada->tasks().sweep().ok());
  CHECK(setting.names("tasks/open").empty());
  CHECK(setting.bytes("tasks/dead/dead-bad.json") == "{\"id\": \"1\", nonsense");
  CHECK(setting.names("tasks/dead").size() == 2);
}

TEST_CASE("A clock that is set takes no task from its holder, and gives back what is over") {
  for (const milliseconds jump : {milliseconds(hours(5)), milliseconds(hours(-5))}) {
    MaildirSetting setting;
    auto ada = setting.actor("ada");
    auto boss = setting.actor("boss");
    const std::string before = id_of(ada->post("task", 1));
    CHECK(claimed_id(*ada) == before);
    REQUIRE(boss->tasks().sweep()->gone.empty());
    setting.clock.set_system(jump);
    CHECK(sweep_through(setting, *boss).empty());
    const std::string after = id_of(ada->post("task", 2));
    CHECK(claimed_id(*ada) == after);
    setting.clock.advance(seconds(100));
    CHECK(sweep_through(setting, *boss).empty());
    setting.clock.advance(seconds(30));
    std::size_t given_back = sweep_through(setting, *boss).size();
    setting.clock.advance(seconds(130));  // a lease on a scale that is not ours counts from when it was first seen
    given_back += sweep_through(setting, *boss).size();
    CHECK(given_back == 2);
  }
}

TEST_CASE("One sweep at a time; what a dead one has begun is taken up by the next") {
  MaildirSetting setting;
  auto ada = setting.actor("ada");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  setting.clock.advance(seconds(130));
  {
    auto boss = setting.actor("boss");
    const auto folder = setting.real.open_dir(absolute, setting.scratch.path("tasks").string());
    REQUIRE(setting.real.lock(folder->fd, folder->path).ok());
    CHECK(sweep_through(setting, *boss).empty());
    CHECK(setting.names("tasks/claimed/ada").size() == 1);
  }
  REQUIRE(setting.actor("boss")->tasks().sweep()->gone.empty());  // and dies
  CHECK(setting.names("tasks/claimed/ada").empty());
  auto next = setting.actor("boss");
  CHECK(sweep_through(setting, *next).size() == 1);
  CHECK(claimed_id(*ada) == id);
}

namespace {

/// One life of a task that is given back, claimed again and completed, with everything in it.
void whole_life(MaildirSetting& setting) {
  auto ada = setting.actor("ada");
  auto boss = setting.actor("boss");
  (void)boss->claim({}, a_lease);
  (void)boss->abandon("1", "first");
  (void)ada->claim({}, a_lease);
  (void)ada->heartbeat("1", a_lease);
  setting.clock.advance(seconds(130));
  (void)boss->tasks().sweep();
  setting.clock.advance(seconds(3));
  (void)boss->tasks().sweep();
  (void)ada->claim({}, a_lease);
  (void)ada->complete("1", "result");
}

/// Whatever happened, the task is finished once, and a result that was written is kept.
void finishes_once(MaildirSetting& setting) {
  auto carl = setting.actor("carl");
  for (int i = 0; i < 4 && traces_of(*carl, "1").done == 0; ++i) {
    setting.clock.advance(seconds(300));
    sweep_through(setting, *carl);
    setting.clock.advance(seconds(300));
    sweep_through(setting, *carl);
    const auto claimed = carl->claim({}, a_lease);
    REQUIRE(claimed.ok());
    if (claimed->has_value()) REQUIRE(carl->complete("1", "of carl").ok());
    if (traces_of(*carl, "1").dead > 0) REQUIRE(carl->tasks().requeue("1").ok());
  }
  setting.clock.advance(seconds(300));
  sweep_through(setting, *carl);
  setting.clock.advance(seconds(300));
  sweep_through(setting, *carl);
  const Traces traces = traces_of(*carl, "1");
  CHECK(traces.done == 1);
  CHECK(traces.tasks() == 1);
}

void post_one(MaildirSetting& setting) {
  setting.settings.max_attempts = 5;
  setting.put("tasks/open/1.json", R"({"id": "1", "ts": 1, "status": "open", "payload": 1})");
}

}  // namespace

TEST_CASE("Killed at any call of a task's whole life: it is never lost and finished once") {
  const unsigned kills =
      with_every_kill(post_one, whole_life, [](MaildirSetting& setting, bool) { finishes_once(setting); }, 4);
  CHECK(kills > 150 / 4);
}

TEST_CASE("A call that fails anywhere in a task's life loses no task and no result") {
  const unsigned met = with_every_fault([](const Fault& fault) {
    MaildirSetting setting;
    post_one(setting);
    auto ada = setting.actor("ada");
    setting.files.set(fault);
    bool completed = false;
    const auto claimed = ada->claim({}, a_lease);
    if (claimed.ok() && claimed->has_value()) {
      (void)ada->heartbeat("1", a_lease);
      completed = ada->complete("1", "result").ok();
    }
    const bool fired = setting.files.fired();
    setting.files.heal();
    if (completed) CHECK(traces_of(*ada, "1").done == 1);
    finishes_once(setting);
    if (completed) CHECK(setting.only("tasks/done").at("result") == json::value("result"));
    return fired;
  }, 4);
  CHECK(met > 60 / 4);
}

TEST_CASE("A call that fails in a sweep loses no task and takes none from who lives") {
  const unsigned met = with_every_fault([](const Fault& fault) {
    MaildirSetting setting;
    post_one(setting);
    setting.put("tasks/open/2.json", R"({"id": "2", "ts": 2, "status": "open"})");
    auto ada = setting.actor("ada");
    auto bob = setting.actor("bob");
    auto boss = setting.actor("boss");
    REQUIRE(claimed_id(*ada) == "1");
    setting.clock.advance(seconds(100));
    REQUIRE(claimed_id(*bob) == "2");
    setting.clock.advance(seconds(30));
    setting.files.set(fault);
    (void)boss->tasks().sweep();
    setting.clock.advance(seconds(3));
    (void)boss->tasks().sweep();
    const bool fired = setting.files.fired();
    setting.files.heal();
    CHECK(bob->complete("2", "result").ok());
    finishes_once(setting);
    return fired;
  }, 4);
  CHECK(met > 60 / 4);
}

}  // namespace inbox_poller::maildir_tasks_test

// What a worker leaves behind: its entry in the roster, its unfinished tasks. And what a person clears from an inbox.
#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/every_fault.hpp"

namespace inbox_poller::mailbox_team_files_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace fs = std::filesystem;

namespace {

/// A roster as clients write it, with a member that is not known to us in every detail.
std::string roster_of(const std::vector<std::string>& names) {
  std::string out = "{\n  \"name\": \"team\",\n  \"big\": 1e400,\n  \"members\": [";
  for (const auto& name : names)
    out += std::string(out.ends_with('[') ? "" : ",") + "\n    {\n      \"agentId\": \"" + name +
           "@team\",\n      \"name\": \"" + name + "\",\n      \"x\\u00e9\": null\n    }";
  return out + "\n  ]\n}";
}

std::string task_of(const std::string& id, const std::string& owner, const std::string& status = "in_progress",
                    const std::string& metadata = "{}") {
  return "{\n  \"id\": \"" + id + "\",\n  \"subject\": \"Task " + id + "\",\n" +
         (owner.empty() ? "" : "  \"owner\": \"" + owner + "\",\n") + "  \"status\": \"" + status +
         "\",\n  \"blocks\": [],\n  \"metadata\": " + metadata + "\n}";
}

/// A team with a roster and a task list.
struct TeamSetting : MailboxSetting {
  TeamSetting() { fs::create_directories(tasks()); }
  [[nodiscard]] fs::path roster() const { return team() / "config.json"; }
  [[nodiscard]] fs::path roster_lock() const { return team() / "config.json.lock"; }
  [[nodiscard]] fs::path task(const std::string& id) const { return tasks() / (id + ".json"); }
  [[nodiscard]] fs::path tasks_lock() const { return tasks() / ".lock.lock"; }
  /// A task list as clients keep it.
  void put_tasks(const std::vector<std::string>& all) const {
    spill(tasks() / ".lock", "");
    for (const auto& bytes : all) spill(task(schema::decode_task(bytes)->id), bytes);
  }
  TasksReleased release() { return port.release_tasks("worker-1", "worker-1@team"); }
};

std::vector<std::string> ids(const TasksReleased& released) {
  std::vector<std::string> out;
  for (const auto& task : released.tasks) out.push_back(task.id);
  return out;
}

std::vector<std::string> hidden_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& found : fs::directory_iterator(folder)) {
    const auto name = found.path().filename().string();
    if (name != ".lock" && (name.starts_with('.') || name.ends_with(".lock"))) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("removing takes these entries out of an inbox and leaves every other byte") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two", "true"), entry("three")}));
  CHECK(at.mailbox.remove(at.lead, at.read().document, std::vector<std::size_t>{0, 1}).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({entry("three")}));
  CHECK(at.mailbox.remove(at.lead, at.read().document, {}).outcome == WriteOutcome::done);
  CHECK(at.mailbox.remove(at.lead, at.read().document, std::vector<std::size_t>{0}).outcome == WriteOutcome::done);
  CHECK(at.bytes() == "[]");
  CHECK(at.litter().empty());
}

TEST_CASE("removing stops at a lock, at a file that a peer has changed, and at one that does not parse") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const ReadResult before = at.read();
  const std::vector<std::size_t> first{0};
  fs::create_directory(at.lock());
  CHECK(at.mailbox.remove(at.lead, before.document, first).outcome == WriteOutcome::lock_held);
  fs::remove(at.lock());
  at.put(inbox_of({entry("new"), entry("one")}));
  CHECK(at.mailbox.remove(at.lead, before.document, first).outcome == WriteOutcome::changed);
  CHECK(at.bytes() == inbox_of({entry("new"), entry("one")}));
  at.put("[{");
  CHECK(at.mailbox.remove(at.lead, at.read().document, first).outcome == WriteOutcome::refused);
  CHECK(at.bytes() == "[{");
  fs::remove(at.inbox());
  CHECK(at.mailbox.remove(at.lead, before.document, first).outcome == WriteOutcome::missing);
}

TEST_CASE("a member goes out of the roster, every other byte stays, and a second time is no harm") {
  TeamSetting at;
  spill(at.roster(), roster_of({"team-lead", "worker-1", "worker-2"}));
  fs::permissions(at.roster(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::done);
  CHECK(slurp(at.roster()) == roster_of({"team-lead", "worker-2"}));
  CHECK((fs::status(at.roster()).permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::unchanged);
  CHECK(at.port.remove_member("nobody").put == WriteStatus::unchanged);
  CHECK(slurp(at.roster()) == roster_of({"team-lead", "worker-2"}));
  CHECK(hidden_files(at.team()).empty());
}

namespace {

/// Looks as often as a daemon does.
void look_for(TeamSetting& at, std::chrono::milliseconds time) {
  for (; time.count() > 0; time -= std::chrono::milliseconds(500)) {
    at.clock.advance(std::chrono::milliseconds(500));
    CHECK_FALSE(at.port.roster().ok());
  }
}

}  // namespace

TEST_CASE("a roster whose file stays empty is put back as it was last seen, without whom we say") {
  TeamSetting at;
  const auto before = roster_of({"team-lead", "worker-1", "worker-2"});
  spill(at.roster(), before);
  fs::permissions(at.roster(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  REQUIRE(at.port.roster().ok());
  const std::string nothing = GENERATE("", " \r\n\t\n");
  spill(at.roster(), nothing);
  CHECK(at.port.roster().error().code == "roster.empty");
  CHECK(at.port.mend_roster({}).put == WriteStatus::busy);
  look_for(at, std::chrono::milliseconds(2900));
  CHECK(at.port.roster().error().code == "roster.lost");
  if (GENERATE(false, true)) {
    CHECK(at.port.mend_roster({"worker-1", "nobody"}).put == WriteStatus::done);
    CHECK(slurp(at.roster()) == roster_of({"team-lead", "worker-2"}));
  } else {
    CHECK(at.port.mend_roster({}).put == WriteStatus::done);
    CHECK(slurp(at.roster()) == before);
  }
  CHECK((fs::status(at.roster()).permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  CHECK(hidden_files(at.team()).empty());
  CHECK(at.port.roster().ok());
}

TEST_CASE("a roster is not lost while somebody may be writing it, nor where nobody knows what stood in it") {
  TeamSetting at;
  const auto before = roster_of({"team-lead", "worker-1"});
  spill(at.roster(), before);
  const auto stays = [&](const std::string& bytes) {
    CHECK(at.port.mend_roster({}).put != WriteStatus::done);
    CHECK(slurp(at.roster()) == bytes);
  };
  SECTION("another process must tell us first") {
    spill(at.roster(), "");
    look_for(at, std::chrono::seconds(10));
    stays("");
    at.port.remember_roster({before, fs::hard_link_count(at.roster())});  // some other file
    look_for(at, std::chrono::seconds(10));
    stays("");
  }
  SECTION("it is torn, or no text") {
    REQUIRE(at.port.roster().ok());
    const std::string bytes = GENERATE(as<std::string>{}, "{", "null", std::string(4, '\0'), "\xef\xbb\xbf");
    spill(at.roster(), bytes);
    look_for(at, std::chrono::seconds(10));
    stays(bytes);
  }
  SECTION("another file came in its place") {
    REQUIRE(at.port.roster().ok());
    spill(at.team() / "new", "");
    fs::rename(at.team() / "new", at.roster());
    look_for(at, std::chrono::seconds(10));
    stays("");
  }
  SECTION("its writer lives, slowly") {
    REQUIRE(at.port.roster().ok());
    spill(at.roster(), "");
    for (int i = 0; i < 5; ++i) {
      look_for(at, std::chrono::seconds(2));
      spill(at.roster(), std::string(static_cast<std::size_t>(i), ' '));
      stays(std::string(static_cast<std::size_t>(i), ' '));
    }
  }
  SECTION("we looked only now and then, as after a pause of the whole machine") {
    REQUIRE(at.port.roster().ok());
    spill(at.roster(), "");
    for (int i = 0; i < 3; ++i) {
      CHECK_FALSE(at.port.roster().ok());
      at.clock.advance(std::chrono::hours(1));
    }
    stays("");
  }
  SECTION("somebody writes it at the last moment") {
    REQUIRE(at.port.roster().ok());
    spill(at.roster(), "");
    look_for(at, std::chrono::seconds(4));
    REQUIRE(at.port.roster().error().code == "roster.lost");
    spill(at.roster(), GENERATE(as<std::string>{}, "{", " "));
    CHECK(at.port.mend_roster({}).put == WriteStatus::busy);
    CHECK(slurp(at.roster()).size() == 1);
  }
  SECTION("its lock is held") {
    REQUIRE(at.port.roster().ok());
    spill(at.roster(), "");
    look_for(at, std::chrono::seconds(4));
    fs::create_directory(at.roster_lock());
    CHECK(at.port.mend_roster({}).put == WriteStatus::busy);
    CHECK(slurp(at.roster()).empty());
    fs::remove(at.roster_lock());
    CHECK(at.port.mend_roster({}).put == WriteStatus::done);
    CHECK(slurp(at.roster()) == before);
  }
}

TEST_CASE("faults: a lost roster stays empty or is whole again, and `done` means whole") {
  const std::string before = roster_of({"team-lead", "worker-1"});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    TeamSetting at;
    spill(at.roster(), before);
    REQUIRE(at.port.roster().ok());
    spill(at.roster(), "");
    look_for(at, std::chrono::seconds(4));
    at.files.set(fault);
    const auto result = at.port.mend_roster({});
    const bool fired = at.files.fired();
    const std::string bytes = slurp(at.roster());
    CHECK((bytes.empty() || bytes == before));
    if (result.put == WriteStatus::done) CHECK(bytes == before);
    at.files.heal();
    return fired;
  });
  CHECK(met > 10);
}

TEST_CASE("a roster that is empty, torn or none at all is never written") {
  TeamSetting at;
  for (const std::string bytes : {"", "  \n", "{", R"({"members":[{"name":"worker-1"}])", "[]", "null",
                                  R"({"members":{"name":"worker-1"}})", R"({"members":[{"name":"worker-1"}]} {)"}) {
    CAPTURE(bytes);
    spill(at.roster(), bytes);
    CHECK(at.port.remove_member("worker-1").put == WriteStatus::busy);  // somebody may be at it
    at.ack();
    const auto settled = at.port.remove_member("worker-1");
    CHECK(settled.put == WriteStatus::refused);
    CHECK_THAT(settled.detail, Contains(at.roster().string()));
    CHECK(slurp(at.roster()) == bytes);
    at.clock.advance(std::chrono::seconds(-10));
  }
  fs::remove(at.roster());
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::gone);
  fs::create_directory(at.roster());
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::refused);
  fs::remove_all(at.team());
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::gone);
}

TEST_CASE("a held roster lock is waited for, and a peer's change in between is kept") {
  TeamSetting at;
  spill(at.roster(), roster_of({"team-lead", "worker-1"}));
  fs::create_directory(at.roster_lock());
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::busy);
  CHECK(slurp(at.roster()) == roster_of({"team-lead", "worker-1"}));
  fs::remove(at.roster_lock());
  at.files.once_before(Call::mkdir_at, "config.json.lock", [&] {
    replace(at.roster(), roster_of({"team-lead", "worker-1", "worker-3"}));
  });
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::done);
  CHECK(slurp(at.roster()) == roster_of({"team-lead", "worker-3"}));
}

TEST_CASE("unfinished tasks of a member lose their owner and are pending again - nothing else changes") {
  TeamSetting at;
  const std::string internal = R"({"_internal": true})";
  const std::vector<std::string> others{task_of("1", "worker-2"), task_of("2", "worker-1", "completed"),
                                        task_of("4", ""), task_of("5", "worker-11"),
                                        task_of("6", "worker-1", "deleted")};
  at.put_tasks(others);
  at.put_tasks({task_of("3", "worker-1"), task_of("7", "worker-1@team", "pending"), task_of("8", "worker-1", "stuck"),
                task_of("9", "worker-1", "in_progress", internal), task_of("10", "worker-1")});
  const auto released = at.release();
  CHECK(released.put == WriteStatus::done);
  CHECK(ids(released) == std::vector<std::string>{"3", "7", "8", "10"});
  CHECK(released.tasks.front().subject == "Task 3");
  CHECK(released.detail.empty());
  for (const auto& id : {"3", "7", "8", "10"}) CHECK(slurp(at.task(id)) == task_of(id, "", "pending"));
  CHECK(slurp(at.task("9")) == task_of("9", "", "pending", internal));
  for (const auto& bytes : others) CHECK(slurp(at.task(schema::decode_task(bytes)->id)) == bytes);
  CHECK(hidden_files(at.tasks()).empty());
  const auto again = at.release();
  CHECK(again.put == WriteStatus::done);
  CHECK(again.tasks.empty());
}

TEST_CASE("more tasks than one hold of the lock allows are given back all the same") {
  TeamSetting at;
  for (int id = 1; id <= 100; ++id) at.put_tasks({task_of(std::to_string(id), "worker-1")});
  const auto released = at.release();
  CHECK(released.put == WriteStatus::done);
  CHECK(released.tasks.size() == 100);
}

TEST_CASE("files that are no tasks are passed over, and named when they look like one") {
  TeamSetting at;
  at.put_tasks({task_of("1", "worker-1"), task_of("2", "worker-1")});
  const std::string unseen = task_of("3", "worker-1");
  for (const std::string name : {"3.json.bak", "x3.json", ".3.json", "3", ".highwatermark", "-3.json", "3 .json"})
    spill(at.tasks() / name, unseen);
  fs::rename(at.task("1"), at.scratch.path("moved"));
  fs::create_symlink(at.scratch.path("moved"), at.task("1"));
  spill(at.task("4"), "");
  spill(at.task("5"), R"({"id": 5, "owner": "worker-1"})");
  fs::create_directory(at.task("6"));
  at.ack();
  const auto released = at.release();
  CHECK(released.put == WriteStatus::done);
  CHECK(ids(released) == std::vector<std::string>{"2"});
  for (const auto& id : {"1", "4", "5", "6"})
    CHECK_THAT(released.detail, Contains(at.task(id).string() + " was passed"));
  CHECK(slurp(at.scratch.path("moved")) == task_of("1", "worker-1"));
  CHECK(slurp(at.task("4")).empty());
  CHECK(slurp(at.tasks() / "x3.json") == unseen);
}

TEST_CASE("a task that somebody is writing is waited for") {
  TeamSetting at;
  at.put_tasks({task_of("1", "worker-1")});
  spill(at.task("2"), R"({"id": "2", "ow)");
  const auto released = at.release();
  CHECK(released.put == WriteStatus::busy);
  CHECK(ids(released) == std::vector<std::string>{"1"});
  spill(at.task("2"), task_of("2", "worker-1"));
  CHECK(ids(at.release()) == std::vector<std::string>{"2"});
}

TEST_CASE("a task that its peers change before the lock is ours keeps their change") {
  TeamSetting at;
  at.put_tasks({task_of("1", "worker-1"), task_of("2", "worker-1")});
  at.files.once_before(Call::mkdir_at, ".lock.lock", [&] { replace(at.task("1"), task_of("1", "worker-2")); });
  const auto released = at.release();
  CHECK(released.put == WriteStatus::busy);
  CHECK(slurp(at.task("1")) == task_of("1", "worker-2"));
  CHECK(ids(at.release()) == std::vector<std::string>{"2"});
  CHECK(slurp(at.task("1")) == task_of("1", "worker-2"));
}

TEST_CASE("the task list's lock is respected - where nothing is to be given back it is not taken") {
  TeamSetting at;
  at.put_tasks({task_of("1", "worker-1")});
  fs::create_directory(at.tasks_lock());
  CHECK(at.release().put == WriteStatus::busy);
  CHECK(slurp(at.task("1")) == task_of("1", "worker-1"));
  CHECK(at.port.release_tasks("worker-9", "worker-9@team").put == WriteStatus::done);
  fs::remove(at.tasks_lock());
  CHECK(at.release().put == WriteStatus::done);
}

TEST_CASE("no task list, or one that others may write to, is left alone") {
  TeamSetting at;
  at.put_tasks({task_of("1", "worker-1")});
  fs::permissions(at.tasks(), fs::perms::others_write, fs::perm_options::add);
  CHECK(at.release().put == WriteStatus::refused);
  CHECK(slurp(at.task("1")) == task_of("1", "worker-1"));
  fs::remove_all(at.tasks());
  CHECK(at.release().put == WriteStatus::gone);
  ArraysSettings settings = at.settings();
  settings.tasks_dir.clear();
  ArraysMailbox without(at.files, at.clock, settings);
  CHECK(without.release_tasks("worker-1", "worker-1@team").put == WriteStatus::gone);
}

TEST_CASE("what a killed predecessor left half written is cleared away first") {
  TeamSetting at;
  spill(at.roster(), roster_of({"worker-1"}));
  spill(at.team() / ".config.json.ip-2147483646-1.tmp", "{");
  spill(at.tasks() / ".1.json.ip-2147483646-2.tmp", "{");
  CHECK(at.port.remove_member("worker-1").put == WriteStatus::done);
  CHECK(at.release().put == WriteStatus::done);
  CHECK(hidden_files(at.team()).empty());
  CHECK(hidden_files(at.tasks()).empty());
}

TEST_CASE("faults: the roster is the old or the new one, and `done` means the new one") {
  const std::string before = roster_of({"team-lead", "worker-1"});
  const std::string after = roster_of({"team-lead"});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    TeamSetting at;
    spill(at.roster(), before);
    at.ack();
    at.files.set(fault);
    const auto result = at.port.remove_member("worker-1");
    const bool fired = at.files.fired();
    const std::string bytes = slurp(at.roster());
    CHECK((bytes == before || bytes == after));
    if (result.put == WriteStatus::done) CHECK(bytes == after);
    if (result.put != WriteStatus::done) CHECK_FALSE(result.detail.empty());
    at.files.heal();
    at.ack();
    at.clock.advance(std::chrono::seconds(10));
    const bool cannot_unlock = fault.call == Call::rmdir_at && fault.for_good;
    if (cannot_unlock) fs::remove(at.roster_lock());
    const auto again = at.port.remove_member("worker-1");
    CHECK((again.put == WriteStatus::done || again.put == WriteStatus::unchanged));
    CHECK(slurp(at.roster()) == after);
    CHECK(hidden_files(at.team()).empty());
    return fired;
  });
  CHECK(met > 20);
}

TEST_CASE("faults: each task is the old or the new one, `done` means all but those that are named") {
  const std::vector<std::string> before{task_of("1", "worker-1"), task_of("2", "worker-1"), task_of("3", "worker-2")};
  const unsigned met = with_every_fault([&](const Fault& fault) {
    TeamSetting at;
    at.put_tasks(before);
    at.ack();
    at.files.set(fault);
    const auto result = at.release();
    const bool fired = at.files.fired();
    std::vector<std::string> changed;
    for (const std::string id : {"1", "2"}) {
      const std::string bytes = slurp(at.task(id));
      CHECK((bytes == task_of(id, "worker-1") || bytes == task_of(id, "", "pending")));
      if (bytes == task_of(id, "", "pending"))
        changed.push_back(id);
      else if (result.put == WriteStatus::done)
        CHECK_THAT(result.detail, Contains(at.task(id).string()));
    }
    auto told = ids(result);
    std::sort(told.begin(), told.end());  // one that could not be read at first comes later
    CHECK(told == changed);
    CHECK(slurp(at.task("3")) == task_of("3", "worker-2"));
    if (result.put != WriteStatus::done) CHECK_FALSE(result.detail.empty());
    at.files.heal();
    if (fault.call == Call::rmdir_at && fault.for_good) fs::remove(at.tasks_lock());
    CHECK(at.release().put == WriteStatus::done);
    for (const std::string id : {"1", "2"}) CHECK(slurp(at.task(id)) == task_of(id, "", "pending"));
    CHECK(hidden_files(at.tasks()).empty());
    return fired;
  });
  CHECK(met > 20);
}

}  // namespace inbox_poller::mailbox_team_files_test

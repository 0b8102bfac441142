// The plain mailbox on the command line: on files, under their locks, and careful beside a daemon.
#include "tests/support/catch.hpp"
#include "tests/unit/cli/inbox_team.hpp"

namespace inbox_poller::inbox_commands_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
using inbox_poller::test::entry;
using inbox_poller::test::inbox_of;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string key_at(const TeamOnDisk& team, const std::string& member, std::size_t index) {
  const auto answer = team.ask({"inbox", "show", member});
  return std::string(answer.at("entries").at(index).at("message_key").as_string());
}

}  // namespace

TEST_CASE("every inbox command has a help with an example") {
  const TempDir dir;
  for (const char* verb : {"list", "show", "unread", "send", "mark-read", "clear"}) {
    const Outcome outcome = run_cli(dir, {"inbox", verb, "--help"});
    INFO(verb);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.out, "inbox-poller inbox " + std::string(verb)));
    CHECK(has(outcome.out, "Exit codes:"));
  }
  CHECK(run_cli(dir, {"inbox"}).code == 2);
}

TEST_CASE("the only team there needs no naming, several do, and --root names another folder") {
  const TeamOnDisk team;
  team.put("alice", {});
  CHECK(team.ask({"inbox", "list"}).at("team") == "demo");

  fs::create_directories(team.root() + "/other/inboxes");
  fs::create_directories(team.root() + "/not-a-team");
  const Outcome several = team.run({"inbox", "list"});
  CHECK(several.code == 2);
  CHECK(has(several.err, "--team"));
  CHECK(has(several.err, "/other"));
  CHECK_FALSE(has(several.err, "not-a-team"));
  CHECK(team.ask({"inbox", "list", "--team", "demo"}).at("team") == "demo");
  CHECK(team.run({"inbox", "list", "--team", "none"}).code == 4);
  CHECK(team.ask({"inbox", "list", "--root", team.root(), "--team", "other"}).at("team") == "other");
  CHECK(has(team.run({"inbox", "list", "--root", team.dir / "nowhere"}).err, "nowhere"));
}

TEST_CASE("a configuration that is there says which teams there are, and a bad one is not passed over") {
  const TeamOnDisk team;
  team.put("alicia", {entry("for the lead")});
  fs::create_directories(team.dir / "config/inbox-poller/teams.d");
  const std::string file = team.dir / "config/inbox-poller/teams.d/demo.toml";
  fs::permissions(team.dir / "config/inbox-poller/teams.d", fs::perms::owner_all);
  test::spill(file, "[team]\nname = \"demo\"\nroot = \"" + team.root() + "\"\naliases = [\"alicia\"]\n");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  CHECK(team.ask({"inbox", "list"}).at("inboxes").at(0).at("whose") == "alias");
  CHECK(team.ask({"inbox", "list", "--root", team.root()}).at("inboxes").at(0).at("whose") == "orphaned");

  test::spill(file, "[team]\nname = 7\n");
  const Outcome bad = team.run({"inbox", "list"});
  CHECK(bad.code == 2);
  CHECK(has(bad.err, "demo.toml:2"));
  CHECK(team.run({"inbox", "list", "--root", team.root()}).code == 0);
}

TEST_CASE("list tells whose each inbox is, how full it is and whether it is locked") {
  const TeamOnDisk team;
  team.put("team-lead", {entry("one", "true"), entry("two"), "null"});
  team.put("alice", {});
  team.put("alcie", {entry("lost")});
  test::spill(team.inbox("bob"), "");
  fs::create_directory(team.inbox("alice") + ".lock");
  test::spill(team.inbox("alcie") + ".lock", "1234\n");

  const auto answer = team.ask({"inbox", "list"});
  const auto& inboxes = answer.at("inboxes").as_array();
  REQUIRE(inboxes.size() == 4);
  const auto& alcie = inboxes[0].as_object();
  CHECK(alcie.at("whose") == "orphaned");
  CHECK(alcie.at("lock").at("is_folder") == false);
  CHECK(alcie.at("oldest_unread_ms") == 1770477646348);
  const auto& alice = inboxes[1].as_object();
  CHECK(alice.at("whose") == "member");
  CHECK(alice.at("entries") == 0);
  CHECK(alice.at("lock").at("is_folder") == true);
  CHECK(inboxes[2].at("state") == "empty");
  const auto& lead = inboxes[3].as_object();
  CHECK(lead.at("whose") == "lead");
  CHECK(lead.at("entries") == 3);
  CHECK(lead.at("unread") == 2);
  CHECK(lead.at("bad") == 1);
  CHECK(lead.at("size") == static_cast<long long>(team.bytes("team-lead").size()));
  CHECK_FALSE(lead.contains("lock"));

  const Outcome table = team.run({"inbox", "list"});
  CHECK(table.code == 0);
  CHECK(has(table.out, "alcie      orphaned"));
  CHECK(has(table.out, "blocked by something else"));

  fs::remove(team.folder() + "/config.json");
  CHECK(team.ask({"inbox", "list"}).at("inboxes").at(0).at("whose") == "unknown");
  CHECK(has(team.run({"inbox", "list"}).out, "no roster"));
}

TEST_CASE("show prints entries in order, safely, whole only when asked, and tells control messages from chat") {
  const TeamOnDisk team;
  const std::string request =
      R"({"type":"permission_request","request_id":"perm-1","tool_name":"Bash","input":{"command":"ls"}})";
  team.put("alice", {entry("first\n\x1b[2J" + std::string(200, 'x'), "true"), entry(request), "7"});
  const Outcome shown = team.run({"inbox", "show", "alice"});
  CHECK(shown.code == 0);
  CHECK(has(shown.out, "first\\n\\x1b[2J"));
  CHECK(has(shown.out, "…"));
  CHECK(has(shown.out, "permission_request"));
  CHECK(has(shown.out, "malformed"));
  CHECK_FALSE(has(shown.out, "\x1b"));
  CHECK_FALSE(has(shown.out, std::string(101, 'x')));
  const Outcome full = team.run({"inbox", "show", "alice@demo", "--full"});
  CHECK(has(full.out, "  | first\n"));
  CHECK(has(full.out, std::string(200, 'x')));

  const auto entries = team.ask({"inbox", "show", "alice", "--last", "2"}).at("entries").as_array();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].at("type") == "permission_request");
  CHECK(entries[0].at("text").as_string() == request);
  CHECK(entries[0].at("from") == "worker-1");
  CHECK(entries[1].at("type") == "malformed");
  CHECK(entries[1].at("entry") == "7");
}

TEST_CASE("unread shows what is unread, and leaves with 4 when nothing is or there is no such inbox") {
  const TeamOnDisk team;
  team.put("alice", {entry("old", "true"), entry("new"), entry("newer", "")});
  const auto entries = team.ask({"inbox", "unread", "alice"}).at("entries").as_array();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].at("text") == "new");
  team.put("alice", {entry("old", "true")});
  CHECK(team.run({"inbox", "unread", "alice"}).code == 4);
  CHECK(team.run({"inbox", "show", "alice"}).code == 0);
  CHECK(team.run({"inbox", "unread", "nobody"}).code == 4);
  CHECK(team.run({"inbox", "unread", "../alice"}).code == 2);
  test::spill(team.inbox("alice"), "[{");
  const Outcome torn = team.run({"inbox", "unread", "alice"});
  CHECK(torn.code == 1);
  CHECK(has(torn.err, "alice.json"));
}

TEST_CASE("send appends one entry in the lead's name") {
  const TeamOnDisk team;
  team.put("alice", {entry("before", "true")});
  const Outcome sent = team.run({"inbox", "send", "alice", "please rebase", "--summary", "rebase"});
  CHECK(sent.code == 0);
  const auto entries = team.ask({"inbox", "show", "alice"}).at("entries").as_array();
  REQUIRE(entries.size() == 2);
  CHECK(entries[1].at("from") == "team-lead");
  CHECK(entries[1].at("text") == "please rebase");
  CHECK(entries[1].at("summary") == "rebase");
  CHECK(entries[1].at("read") == false);
  CHECK(has(sent.out, std::string(entries[1].at("message_key").as_string())));
  CHECK_FALSE(fs::exists(team.inbox("alice") + ".lock"));

  CHECK(team.run({"inbox", "send", "team-lead", "-", "--from", "alice"}, "from the input\xff").code == 0);
  const auto to_lead = team.ask({"inbox", "show", "team-lead"}).at("entries").at(0).as_object();
  CHECK(to_lead.at("from") == "alice");
  CHECK(to_lead.at("text") == "from the input\ufffd");
  CHECK(has(team.bytes("team-lead"), R"("color": "blue")"));
}

TEST_CASE("send refuses a name that is no member, and a text that a client would act on") {
  const TeamOnDisk team;
  const Outcome stranger = team.run({"inbox", "send", "alcie", "hello"});
  CHECK(stranger.code == 4);
  CHECK(has(stranger.err, "alice"));
  CHECK_FALSE(fs::exists(team.inbox("alcie")));
  CHECK(team.run({"inbox", "send", "alcie", "hello", "--force"}).code == 0);
  CHECK(fs::exists(team.inbox("alcie")));

  for (const char* text : {R"({"type":"shutdown_request","requestId":"shutdown-1@alice","from":"team-lead"})",
                           R"({"type":"something_new"})", R"({"type":"permission_response"})"}) {
    const Outcome control = team.run({"inbox", "send", "alice", text});
    INFO(text);
    CHECK(control.code == 2);
    CHECK(has(control.err, "--raw"));
    CHECK_FALSE(fs::exists(team.inbox("alice")));
  }
  CHECK(team.run({"inbox", "send", "alice", R"({"type":"something_new"})", "--raw"}).code == 0);
  CHECK(team.run({"inbox", "send", "alice", R"({"no":"type"})"}).code == 0);
  CHECK(team.run({"inbox", "send", "alice", "x", "--from", "a/b"}).code == 2);
}

TEST_CASE("mark-read marks exactly the entries that are meant, and no other byte") {
  const TeamOnDisk team;
  team.put("alice", {entry("one"), entry("two"), entry("three")});
  const std::string key = key_at(team, "alice", 1);
  CHECK(team.ask({"inbox", "mark-read", "alice", "--key", key.substr(0, 8)}).at("count") == 1);
  CHECK(team.bytes("alice") == inbox_of({entry("one"), entry("two", "true "), entry("three")}));
  CHECK(team.run({"inbox", "mark-read", "alice", "--key", "ffffffffffff"}).code == 4);
  CHECK(team.run({"inbox", "mark-read", "alice"}).code == 2);
  CHECK(team.run({"inbox", "mark-read", "alice", "--all", "--key", key}).code == 2);
  CHECK(team.ask({"inbox", "mark-read", "alice", "--all"}).at("count") == 2);
  CHECK(team.bytes("alice") == inbox_of({entry("one", "true "), entry("two", "true "), entry("three", "true ")}));
  CHECK(team.ask({"inbox", "mark-read", "alice", "--all"}).at("count") == 0);
  CHECK(team.run({"inbox", "mark-read", "nobody", "--all"}).code == 4);
}

TEST_CASE("clear removes what is read, and everything only after a yes") {
  const TeamOnDisk team;
  team.put("alice", {entry("one", "true"), entry("two"), entry("three", "true")});
  CHECK(team.ask({"inbox", "clear", "alice"}).at("count") == 2);
  CHECK(team.bytes("alice") == inbox_of({entry("two")}));
  const Outcome unasked = team.run({"inbox", "clear", "alice", "--all"}, "y\n");  // the input is no terminal
  CHECK(unasked.code == 2);
  CHECK(has(unasked.err, "--yes"));
  CHECK(team.bytes("alice") == inbox_of({entry("two")}));
  CHECK(team.ask({"inbox", "clear", "alice", "--all", "--yes"}).at("count") == 1);
  CHECK(team.bytes("alice") == "[]");
  CHECK(team.run({"inbox", "clear", "alice", "--all", "--read"}).code == 2);
}

TEST_CASE("the lead's inbox is left to a daemon that serves it, and to none that does not") {
  const TeamOnDisk team;
  team.put("team-lead", {entry("one"), entry("two", "true")});
  team.put("alice", {entry("one", "true")});
  FakeDaemon daemon(team.dir / "run/inbox-poller/control.sock");
  const auto serves = [&](const std::string& path) {
    daemon.prepare("status", {{"teams", json::array{json::object{{"team", "demo"}, {"inbox", {{"path", path}}}}}}});
  };
  serves(team.inbox("team-lead"));
  const std::string before = team.bytes("team-lead");
  const Outcome refused = team.run({"inbox", "mark-read", "team-lead", "--all"});
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "inbox-poller recv"));
  CHECK(team.run({"inbox", "clear", "team-lead"}).code == 1);
  CHECK(team.bytes("team-lead") == before);
  CHECK(team.run({"inbox", "clear", "alice"}).code == 0);
  CHECK(team.run({"inbox", "clear", "team-lead", "--force"}).code == 0);

  daemon.prepare("status", {{"code", "ledger.io"}, {"message", "the disk is full"}});
  const Outcome unsure = team.run({"inbox", "mark-read", "team-lead", "--all"});
  CHECK(unsure.code == 1);
  CHECK(has(unsure.err, "the disk is full"));

  serves(team.dir / "elsewhere/demo/inboxes/team-lead.json");
  CHECK(team.run({"inbox", "clear", "team-lead"}).code == 0);
}

TEST_CASE("a lock that stays held is waited for, then told about, and nothing is done") {
  const TeamOnDisk team;
  team.put("alice", {entry("one")});
  fs::create_directory(team.inbox("alice") + ".lock");
  const auto begin = std::chrono::steady_clock::now();  // clock: a lower bound; a slow machine only adds to it
  const Outcome outcome = team.run({"inbox", "mark-read", "alice", "--all"});
  CHECK(std::chrono::steady_clock::now() - begin >= 5s);  // clock: a lower bound, see above
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "locked"));
  CHECK(has(outcome.err, "alice.json.lock"));
  CHECK(team.bytes("alice") == inbox_of({entry("one")}));
}

TEST_CASE("a lock that is released meanwhile delays, and that is all") {
  const TeamOnDisk team;
  team.put("alice", {entry("one")});
  const std::string lock = team.inbox("alice") + ".lock";
  fs::create_directory(lock);
  std::thread holder([&] {
    std::this_thread::sleep_for(150ms);  // clock: the command waits much longer; a lock that is released earlier is no fault
    fs::remove(lock);
  });
  const Outcome outcome = team.run({"inbox", "send", "alice", "two"});
  holder.join();
  CHECK(outcome.code == 0);
  CHECK(team.ask({"inbox", "show", "alice"}).at("entries").as_array().size() == 2);
}

}  // namespace inbox_poller::inbox_commands_test

// The doctor on real files: what is there is found, nothing is changed, and the exit code says how bad it is.
#include "poller/cli/doctor/look.hpp"

#include <sys/stat.h>

#include "poller/ledger/ledger.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli/inbox_team.hpp"

namespace inbox_poller::doctor_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::cli;
using namespace inbox_poller::poller::testing;
using inbox_poller::test::entry;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

class FakeProcesses final : public Processes {
 public:
  std::map<long long, std::vector<std::string>> alive;  // their arguments
  long long started = 0;

  Result<ProcessRef> identify(long long pid) override {
    if (!alive.contains(pid)) return Error{"process.gone", "gone"};
    return ProcessRef{pid, "then"};
  }
  bool is_alive(const ProcessRef& process) override { return alive.contains(process.pid); }
  std::vector<ProcessRef> family(const ProcessRef& process) override { return {process}; }
  std::vector<ProcessRef> families(const std::vector<ProcessRef>& all) override { return all; }
  std::optional<ProcessRef> in_front_of(const ProcessRef&) override { return std::nullopt; }
  bool may_signal(const ProcessRef&) override { return false; }
  std::vector<std::string> arguments(const ProcessRef& process) override { return alive[process.pid]; }
  std::vector<ProcessRef> with_word(std::string_view word) override {
    std::vector<ProcessRef> found;
    for (const auto& [pid, words] : alive)
      if (std::find(words.begin(), words.end(), word) != words.end()) found.push_back({pid, "then"});
    return found;
  }
  long long started_ms(const ProcessRef&) override { return started; }
  Status signal(const ProcessRef&, int) override { return Error{"process.refused", "the doctor signals nobody"}; }
};

struct Practice {
  TeamOnDisk team;
  PosixFileSystem files;
  SystemClock clock;
  FakeProcesses processes;
  Result<std::vector<Pane>> panes = std::vector<Pane>{};
  int looks = 0;
  Installation at{config::Environment::from_process(), {}, {}, false, true, "", Error{"control.no_daemon", "nobody"}};

  /// "warning lock.abandoned" for each finding of this team that is worse than ok.
  std::set<std::string> findings() {
    const World world{files, clock, processes,
                      [this](const std::vector<std::string>&) {
                        ++looks;
                        return panes;
                      },
                      [](std::chrono::milliseconds) {}};
    std::set<std::string> found;
    const auto sections = examine(world, at);
    CHECK(sections.size() == 2);
    for (const Finding& finding : sections.back().findings)
      if (finding.severity != Severity::ok)
        found.insert(std::string(to_string(finding.severity)) + ' ' + finding.check);
    return found;
  }
};
using Set = std::set<std::string>;

void age(const std::string& path, std::chrono::seconds by) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - by);
}

std::map<std::string, std::string> everything_below(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    const auto time = file.last_write_time().time_since_epoch().count();
    all[file.path().string()] =
        std::to_string(time) + (file.is_regular_file() ? test::slurp(file.path()) : std::string());
  }
  return all;
}

}  // namespace

TEST_CASE("a team in good order has no findings, and its panes are not asked for when nobody has one") {
  Practice practice;
  practice.team.put("alice", {entry("hello", "true")});
  CHECK(practice.findings().empty());
  CHECK(practice.looks == 0);
}

TEST_CASE("everything odd in a team's folder is found, and nothing is changed by looking") {
  Practice practice;
  const TeamOnDisk& team = practice.team;
  team.put("alcie", {entry("lost")});
  team.put("alice", {entry("old"), "null"});
  test::spill(team.inbox("team-lead"), "[{");
  age(team.inbox("team-lead"), 60s);
  fs::create_directory(team.inbox("alice") + ".lock");
  age(team.inbox("alice") + ".lock", 60s);
  fs::create_directories(team.folder() + "/config.json.lock/inside");
  fs::create_directories(team.dir / "claude/tasks/demo");
  test::spill(team.dir / "claude/tasks/demo/.lock", "");
  test::spill(team.dir / "claude/tasks/demo/.lock.lock", "");
  age(team.dir / "claude/tasks/demo/.lock.lock", 60s);
  fs::create_directories(team.folder() + "/permissions/pending");
  test::spill(team.folder() + "/permissions/pending/perm-1.json", "{}");
  test::spill(team.folder() + "/inboxes/.alice.json.ip-999999999-1.tmp", "");  // litter that the daemon would remove
  ::chmod((team.folder() + "/inboxes").c_str(), 0777);

  const auto before = everything_below(team.dir.path());
  CHECK(practice.findings() == Set{"error access.writable", "error inbox.fault", "error lock.file",
                                   "error lock.not_empty", "note team.permission_files", "warning inbox.orphaned",
                                   "warning lock.abandoned"});
  ::chmod((team.folder() + "/inboxes").c_str(), 0700);
  CHECK(practice.findings() == Set{"error inbox.torn", "error lock.file", "error lock.not_empty",
                                   "note team.permission_files", "warning inbox.bad_entries", "warning inbox.orphaned",
                                   "warning inbox.unread", "warning lock.abandoned"});
  CHECK(everything_below(team.dir.path()) == before);
}

TEST_CASE("the inbox of somebody who was a member is no misspelt name, as the daemon remembers") {
  Practice practice;
  practice.team.put("alcie", {});
  CHECK(practice.findings() == Set{"warning inbox.orphaned"});
  const auto served = [&](const std::string& team, const std::string& member) {
    operations::Status status;
    status.teams.resize(2);
    status.teams[0].team = team;
    status.teams[0].members.emplace_back().member = member;
    status.teams[1].team = "demo";
    for (auto& one : status.teams) one.role = "leader";
    practice.at.status = status;
    return practice.findings();
  };
  CHECK(served("demo", "alice").contains("warning inbox.orphaned"));
  CHECK(served("other", "alcie").contains("warning inbox.orphaned"));
  CHECK_FALSE(served("demo", "alcie").contains("warning inbox.orphaned"));
}

TEST_CASE("a roster of 0 bytes is an error, a folder without one is a ghost") {
  Practice practice;
  test::spill(practice.team.folder() + "/config.json", "");
  CHECK(practice.findings() == Set{"error roster.unreadable"});
  fs::remove(practice.team.folder() + "/config.json");
  CHECK(practice.findings() == Set{"warning team.ghost"});
}

TEST_CASE("members are compared with the panes and what runs in them") {
  Practice practice;
  const auto member = [](const std::string& name, const std::string& pane) {
    return R"({"name": ")" + name + R"(", "agentId": ")" + name + R"(@demo", "backendType": "tmux", "tmuxPaneId": ")" +
           pane + "\"}";
  };
  practice.team.write_roster(member("alice", "%1") + ", " + member("bob", "%2"));
  practice.processes.alive[11] = {"claude", "--agent-id", "alice@demo"};
  practice.processes.alive[12] = {"claude", "--agent-id", "bob@demo"};
  const ProcessRef server{1, "s"};
  const Pane alice{"%1", server, {11, "then"}, false};
  const Pane bob{"%2", server, {12, "then"}, false};
  practice.panes = std::vector<Pane>{alice, bob};
  CHECK(practice.findings().empty());
  CHECK(practice.looks == 1);

  practice.processes.alive[12] = {"-zsh"};
  CHECK(practice.findings() == Set{"note member.process_unseen"});
  practice.processes.alive[12] = {};  // not ours to read
  CHECK(practice.findings().empty());
  practice.panes = std::vector<Pane>{alice, {"%2", server, {12, "then"}, true}};
  CHECK(practice.findings() == Set{"warning member.process_gone"});
  practice.panes = std::vector<Pane>{alice};
  CHECK(practice.findings() == Set{"warning member.pane_gone"});
  practice.panes = Error{"panes.unavailable", "tmux: not found"};
  CHECK(practice.findings() == Set{"warning panes.unavailable"});
  practice.panes = std::vector<Pane>{alice};
  practice.team.write_roster(member("alice", "%1") + ", " + member("bob", "%1"));
  practice.processes.alive[11] = {};
  CHECK(practice.findings() == Set{"warning member.same_pane"});
  // No process of the lead names an agent, and nobody is to end it.
  practice.team.write_roster(member("team-lead", "%3") + ", " + member("alice", "%1"));
  practice.processes.alive[13] = {"-zsh"};
  practice.panes = std::vector<Pane>{alice, {"%3", server, {13, "then"}, false}};
  CHECK(practice.findings().empty());
}

TEST_CASE("the process that says it leads counts while it lives and began before it said so") {
  Practice practice;
  practice.team.write_roster("", R"(, "leadProcess": {"pid": 77, "claimedAt": 1770477646348})");
  CHECK(practice.findings().empty());
  practice.processes.alive[77] = {};
  practice.processes.started = 1770477640000;
  CHECK(practice.findings() == Set{"warning lead.alive"});
  practice.processes.started = 1770477746348;  // its number was given to somebody else
  CHECK(practice.findings().empty());
}

TEST_CASE("a setting that keeps hooks from running is found in every file that a session reads") {
  TeamOnDisk team;
  PosixFileSystem files;
  const fs::path folder = fs::path(team.root()) / "work", managed = fs::path(team.root()) / "managed";
  const auto write = [](const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  const auto found = [&] {
    std::vector<std::string> lines;
    for (const HookSilence& one : silenced_hooks(files, folder, managed))
      lines.push_back(fs::path(one.file).filename().string() + ' ' + one.key + (one.is_certain ? "" : " perhaps"));
    return lines;
  };
  using Lines = std::vector<std::string>;
  CHECK(found() == Lines{});
  write(folder / ".claude/settings.json", R"({"disableAllHooks": true, "allowManagedHooksOnly": true})");
  CHECK(found() == Lines{"settings.json allowManagedHooksOnly perhaps", "settings.json disableAllHooks"});
  write(folder / ".claude/settings.local.json", R"({"disableAllHooks": false})");  // of a higher precedence
  CHECK(found() == Lines{"settings.json allowManagedHooksOnly perhaps"});
  write(folder / ".claude/settings.json", R"({"disableAllHooks": "true"})");
  CHECK(found() == Lines{});
  write(managed / "managed-settings.json", R"({"allowManagedHooksOnly": true, "disableAllHooks": false})");
  CHECK(found() == Lines{"managed-settings.json allowManagedHooksOnly"});
  write(managed / "managed-settings.d/10.json", R"({"disableAllHooks": true})");
  write(managed / "managed-settings.d/20.json", "no JSON");
  CHECK(found() == Lines{"20.json  perhaps", "10.json disableAllHooks", "managed-settings.json allowManagedHooksOnly"});

  SystemClock clock;
  FakeProcesses processes;
  World world{files, clock, processes, [](const std::vector<std::string>&) { return std::vector<Pane>{}; }, [](std::chrono::milliseconds) {}};
  world.managed_settings = managed.string();
  const auto severities = [&] {
    std::set<std::string> all;
    for (const Finding& one : examine_settings(world, {folder.string()}))
      all.insert(std::string(to_string(one.severity)) + ' ' + one.check);
    return all;
  };
  CHECK(severities() == std::set<std::string>{"note settings.hooks_off", "note settings.unread"});
  write(folder / ".claude/settings.json",
        R"({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "inbox-poller hook --target workers"}]}]}})");
  const auto with_ours = severities();
  CHECK(with_ours.contains("error settings.hooks_off"));
  CHECK(with_ours.contains("warning settings.unread"));
  CHECK_FALSE(with_ours.contains("ok settings.hooks"));
}

TEST_CASE("the doctor's exit code is 0, 1 for warnings and 2 for errors") {
  const TeamOnDisk team;
  const Outcome fine = team.run({"doctor"});
  CHECK(fine.code == 0);
  CHECK(fine.out.find("team demo\n  ok") != std::string::npos);
  CHECK(fine.out.find("0 errors, 0 warnings") != std::string::npos);

  team.put("alcie", {});
  const Outcome warned = team.run({"doctor"});
  CHECK(warned.code == 1);
  CHECK(warned.out.find("warning  the inbox belongs to no member") != std::string::npos);
  CHECK(warned.out.find("-> if they were meant for the lead: write `aliases = [\"alcie\"]`") != std::string::npos);
  CHECK(team.run({"doctor", "--team", "other"}).code == 2);  // none of that name was examined

  test::spill(team.inbox("alice"), "{}");
  age(team.inbox("alice"), 60s);
  const Outcome wrong = team.run({"doctor", "--json"});
  CHECK(wrong.code == 2);
  const auto answer = json::parse(wrong.out).as_object();
  CHECK(answer.at("errors") == 1);
  CHECK(answer.at("warnings") == 1);
  CHECK(answer.at("sections").at(1).at("team") == "demo");
}

TEST_CASE("the installation: a bad configuration, a ledger beside a daemon, a socket that nobody answers on") {
  const TeamOnDisk team;
  const auto state = team.dir / "state/inbox-poller";
  fs::create_directories(state);
  ::chmod(state.c_str(), 0755);
  REQUIRE(Ledger::open(state + "/ledger.sqlite3"));
  const Outcome outcome = team.run({"doctor"});
  CHECK(outcome.out.find("ledger: sound") != std::string::npos);
  CHECK(outcome.out.find("chmod go-rwx " + state) != std::string::npos);
  CHECK(outcome.code == 1);
  ::chmod(state.c_str(), 0700);
  CHECK(team.run({"doctor"}).code == 0);

  FakeDaemon daemon(team.dir / "run/inbox-poller/control.sock");
  daemon.prepare("status", {{"version", "0.0.0"}, {"teams", json::array{}}});
  CHECK(team.run({"doctor"}).out.find("the daemon is version 0.0.0") != std::string::npos);

  test::spill(team.dir / "team.toml", "[team]\nname = 7\n");
  const Outcome bad = team.run({"doctor", "--config", team.dir / "team.toml"});
  CHECK(bad.code == 2);
  CHECK(bad.out.find("team.toml:2") != std::string::npos);
}

TEST_CASE("what cannot be read is an error with its reason, and neither missing nor the end of the examination") {
  const TeamOnDisk team;
  fs::create_symlink("first", team.root() + "/first");  // a link to itself: cannot be read, by root either
  const std::string why = "Too many levels of symbolic links";
  const Outcome unread = team.run({"doctor"});
  CHECK(unread.code == 2);
  CHECK(unread.out.find("team first\n  error") != std::string::npos);
  CHECK(unread.out.find("is not a folder itself") != std::string::npos);
  CHECK(unread.out.find("-> ls -ld " + team.root() + "/first") != std::string::npos);
  const Outcome listed = team.run({"inbox", "list", "--team", "first"});
  CHECK(listed.code == 1);
  CHECK(listed.err.find("is not a folder itself") != std::string::npos);

  fs::rename(team.dir / "claude", team.dir / "before");
  fs::create_symlink("claude", team.dir / "claude");
  const Outcome nothing = team.run({"doctor"});
  CHECK(nothing.code == 2);
  CHECK(nothing.out.find(why) != std::string::npos);
  CHECK(nothing.out.find("no team exists") == std::string::npos);
  CHECK(nothing.out.find("the file cannot be read, so it may turn hooks off") != std::string::npos);
  CHECK(nothing.out.find("-> ls -ld " + team.dir / "claude/settings.json") != std::string::npos);
  PosixFileSystem files;
  const auto settings = read_settings(files, team.dir / "claude/settings.json");  // as `hook install` reads it
  REQUIRE_FALSE(settings);
  CHECK(settings.error().message.find("claude/settings.json: " + why) != std::string::npos);

  test::spill(team.dir / "team.toml", "[team]\nname = \"first\"\n");
  fs::permissions(team.dir / "team.toml", fs::perms::owner_read | fs::perms::owner_write);
  const Outcome checked = team.run({"check-config", "--config", team.dir / "team.toml"});
  CHECK(checked.code == 1);
  CHECK(checked.err.find("is not a folder itself") != std::string::npos);
  CHECK(checked.err.find("does not exist") == std::string::npos);
}

TEST_CASE("doctor's help says what its exit codes mean") {
  const TempDir dir;
  const Outcome outcome = run_cli(dir, {"doctor", "--help"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("1  warnings") != std::string::npos);
}

}  // namespace inbox_poller::doctor_test

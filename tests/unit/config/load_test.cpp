#include "config/load.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rule_table.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::config::load_test {
namespace {

namespace fs = std::filesystem;

const Environment ann{"/home/ann", "", "", "", "/run/user/1000"};

struct Parsed {
  LoadedTeam team;
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
};

Parsed parse(const std::string& text, const Environment& environment = ann) {
  Parsed parsed;
  parsed.team = parse_team(text, "t.toml", environment, parsed.problems, parsed.warnings);
  return parsed;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

/// A folder of its own below the system's temporary one, gone with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "inbox-poller-config-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = fs::canonical(name);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file.string();
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

const std::string minimal = "[team]\nname = \"alpha\"\n";

TEST_CASE("a file that only names the team gets every default") {
  const Parsed parsed = parse(minimal);
  REQUIRE(joined(parsed.problems).empty());
  CHECK(parsed.warnings.empty());
  const TeamConfig& team = parsed.team.config;
  CHECK(team.source == "t.toml");
  CHECK(team.team.name == "alpha");
  CHECK(team.team.root == "/home/ann/.claude/teams");
  CHECK(team.team.poll_interval == std::chrono::milliseconds(500));
  CHECK(team.permissions.default_action == Action::ask);
  CHECK(team.permissions.timeout == std::chrono::minutes(10));
  CHECK(team.sandbox.default_action == Action::ask);
  CHECK(team.plans.decision == Action::ask);
  CHECK(team.plans.ceiling == PermissionMode::standard);
  CHECK(team.compaction.enabled);
  CHECK(team.compaction.entries == 1000);
  CHECK(team.compaction.size == Bytes{1'000'000});
  CHECK(team.compaction.after == std::chrono::hours(1));
  CHECK(team.limits.inbox_file == Bytes{64U << 20});
  CHECK(team.team.role == Role::leader);
  CHECK(team.team.on_competing_consumer == OnCompetingConsumer::stop);
  CHECK_FALSE(team.modes.wanted("anybody"));
  CHECK(team.shutdown.remind_after == std::chrono::seconds(20));
  CHECK_FALSE(team.shutdown.force_after);
  CHECK(team.shutdown.tmux == std::vector<std::string>{"tmux"});
  CHECK(team.permissions.approver == Answerer::person);
  CHECK(team.delivery.methods == std::vector<DeliveryMethod>(std::begin(usual_methods), std::end(usual_methods)));
  CHECK_FALSE(team.delivery.max_delay);
  CHECK_FALSE(team.delivery.urgent_max_delay);
  CHECK_FALSE(team.delivery.expire_after);
  CHECK(team.delivery.assume_busy_for == std::chrono::seconds(30));
  CHECK_FALSE(team.delivery.tmux.payload);
  CHECK(team.approver.command.empty());
  CHECK_FALSE(team.lead.permissions);
  CHECK_FALSE(team.lead.mcp_tools);
}

TEST_CASE("a default that is nothing is shown as nothing, a list by what is in it") {
  const Parsed parsed = parse(minimal);
  const auto shown = [&](const char* key) {
    for (const Setting& setting : parsed.team.settings) {
      if (setting.key == key) return setting.value;
    }
    return std::string("absent");
  };
  CHECK(shown("modes.on_join") == "\"\"");
  CHECK(shown("shutdown.force_after") == "\"\"");
  CHECK(shown("shutdown.tmux") == "[\"tmux\"]");
  CHECK(shown("delivery.methods") == R"(["mcp", "stdin", "hook", "socket", "exec", "file", "tmux"])");
  CHECK(shown("delivery.max_delay") == "\"\"");
  CHECK(shown("permissions.approver") == "\"person\"");
}

TEST_CASE("an interceptor polls faster than a lead does, unless told otherwise") {
  const auto interval = [](const std::string& more) { return parse(minimal + more).team.config.team.poll_interval; };
  CHECK(interval("role = \"interceptor\"\n") == std::chrono::milliseconds(100));
  CHECK(interval("role = \"interceptor\"\npoll_interval = \"300ms\"\n") == std::chrono::milliseconds(300));
  CHECK(interval("role = \"observer\"\n") == std::chrono::milliseconds(500));
}

TEST_CASE("the task folder of a team that is named may be elsewhere") {
  CHECK(parse(minimal + "tasks = \"~/tasks/alpha\"\n").team.config.team.tasks == "/home/ann/tasks/alpha");
}

TEST_CASE("what only a leader does is told, not refused, where the role is another") {
  const std::string leaders_own =
      "on_competing_consumer = \"ignore\"\n[modes]\non_join = \"plan\"\n[shutdown]\ngrace = \"1s\"\n[delivery]\n"
      "methods = [\"exec\", \"file\", \"hook\", \"tmux\"]\nexec = [\"/bin/notify\"]\nfile = \"/chat\"\n"
      "assume_busy_for = \"1s\"\nmax_delay = \"1s\"\nurgent_max_delay = \"0s\"\nurgent = [\"ann\"]\n"
      "expire_after = \"1d\"\ndigest_after = \"1s\"\n[delivery.tmux]\npayload = true\n"
      "[approver]\ncommand = [\"/bin/notify\"]\n[permissions]\napprover = \"lead\"\n[sandbox]\napprover = \"both\"\n"
      "[plans]\napprover = \"lead\"\n";
  for (const char* role : {"interceptor", "observer"}) {
    const Parsed parsed = parse(minimal + "role = \"" + role + "\"\n" + leaders_own);
    CHECK(joined(parsed.problems).empty());
    std::string expected;
    for (const char* what : {"team.on_competing_consumer", "permissions.approver", "sandbox.approver", "plans.approver", "[modes]",
                             "[shutdown]", "delivery.methods", "delivery.exec", "delivery.file", "delivery.assume_busy_for",
                             "delivery.max_delay", "delivery.urgent_max_delay", "delivery.urgent",
                             "delivery.expire_after", "delivery.digest_after", "[delivery.tmux]", "[approver]"}) {
      expected += (expected.empty() ? "" : "\n") + std::string("t.toml: ") + what +
                  " has no effect with team.role = \"" + role + "\"";
    }
    CHECK(joined(parsed.warnings) == expected);
    CHECK(parse(minimal + "role = \"" + role + "\"\n").warnings.empty());
  }
  CHECK(parse(minimal + "role = \"leader\"\n" + leaders_own).warnings.empty());
}

TEST_CASE("ask is a list of rules, and approver says who is asked") {
  const auto rules = [](const std::string& more) {
    const Parsed parsed = parse(minimal + more);
    CHECK(joined(parsed.problems).empty());
    return parsed.team.config;
  };
  const TeamConfig list = rules("[permissions]\nask = [\"Bash(git push *)\"]\n[sandbox]\nask = [\"a.org\"]\n");
  CHECK(list.permissions.rules.ask.size() == 1);
  CHECK(list.permissions.approver == Answerer::person);
  CHECK(list.sandbox.hosts.ask.size() == 1);
  const TeamConfig both = rules("[sandbox]\napprover = \"both\"\nask = [\"a.org\"]\n");
  CHECK(both.sandbox.hosts.ask.size() == 1);
  CHECK(both.sandbox.approver == Answerer::both);
}

TEST_CASE("a way that is named and not set up, or set up and not named, is told") {
  const std::pair<const char*, const char*> rows[] = {
      {"methods = [\"exec\", \"socket\"]\n",
       "t.toml: delivery.methods names \"exec\", but delivery.exec is not set: nothing can go this way"},
      {"methods = [\"file\"]\nexec = [\"/bin/notify\"]\n",
       "t.toml: delivery.exec has no effect: delivery.methods does not name \"exec\"\n"
       "t.toml: delivery.methods names \"file\", but delivery.file is not set: nothing can go this way"},
      {"methods = [\"stdin\"]\nfile = \"/chat\"\n",
       "t.toml: delivery.file has no effect: delivery.methods does not name \"file\""},
      {"methods = [\"hook\"]\n[delivery.tmux]\npane = \"%1\"\n",
       "t.toml: [delivery.tmux] has no effect: delivery.methods does not name \"tmux\""},
      {"methods = [\"tmux\"]\n",
       "t.toml: delivery.methods names \"tmux\", but delivery.tmux.pane is not set: unless hooks of the lead tell its "
       "pane, "
       "nothing can go this way"},
      {"methods = [\"hook\", \"tmux\"]\n", ""},
      {"methods = [\"tmux\"]\n[delivery.tmux]\npane = \"%1\"\n", ""},
      {"", ""},
      {"exec = [\"/bin/notify\"]\n", ""},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    const Parsed parsed = parse(minimal + "[delivery]\n" + text);
    CHECK(joined(parsed.problems).empty());
    CHECK(joined(parsed.warnings) == expected);
  }
}

TEST_CASE("two configurations are equal when every setting is") {
  const auto team = [](const std::string& more) { return parse(minimal + more).team.config; };
  CHECK(team("") == team("poll_interval = \"500ms\"\n"));
  CHECK_FALSE(team("") == team("poll_interval = \"501ms\"\n"));
  CHECK_FALSE(team("") == team("[permissions]\nallow = [\"Read\"]\n"));
  CHECK_FALSE(team("") == team("[modes.members]\nmason = \"plan\"\n"));
  CHECK_FALSE(team("") == team("[delivery]\nmethods = [\"hook\"]\n"));
  CHECK_FALSE(team("") == team("[lead]\npermissions = true\n"));
}

TEST_CASE("every key is read, and the settings say what holds and where it comes from") {
  const Parsed parsed = parse(R"toml(
[team]
name = "session-*"
root = "~/teams"
lead = "team-lead"
role = "leader"
backend = "claude-code"
poll_interval = "250ms"
aliases = ["lead", "leader"]
on_competing_consumer = "observe"
unresponsive_after = "3min"

[permissions]
allow = ["Bash(git status:*)"]
ask = ["Bash(git push *)"]
deny = ["Bash(curl *)"]
default = "deny"
timeout = "1h"
approver = "lead"

[sandbox]
allow = ["github.com", "*.github.com:443"]
ask = []
deny = ["evil.net"]
default = "deny"
timeout = "90s"

[plans]
decision = "approve"
ceiling = "acceptEdits"
timeout = "2d"
max_resubmissions = 3
approver = "both"

[modes]
on_join = "default"
ceiling = "acceptEdits"
apply_timeout = "10s"
[modes.members]
mason = "acceptEdits"
scout = "plan"

[shutdown]
remind_after = "0s"
force_after = "1min"
timeout = "5min"
grace = "2s"
close_panes = false
remove_members = false
release_tasks = false
tmux = ["/usr/bin/tmux", "-L", "team"]
approver = "both"

[delivery]
methods = ["socket", "exec", "file", "tmux"]
allowed_senders = ["user"]
exec = ["/usr/bin/notify", "--batch"]
exec_timeout = "5s"
file = "~/chat.jsonl"
busy_timeout = "30min"
assume_busy_for = "45s"
max_delay = "20min"
urgent_max_delay = "0s"
urgent = ["security"]
expire_after = "1min"
batch = 5
idle = "digest"
digest_after = "90s"
unknown = "hold"
unsent_reports = "first_lines"
[delivery.tmux]
pane = "%7"
payload = true
command = ["tmux", "-L", "lead"]
settle = "0s"

[approver]
command = ["/usr/bin/notify-send", "ask"]
command_timeout = "3s"

[lead]
permissions = true
mcp_tools = true

[compaction]
enabled = false
entries = 10
size = "2KiB"
after = "1s"

[limits]
inbox_file = "10MB"
message = "64KiB"
pending_per_worker = 7
queued_chat = 100
quarantine_after_polls = 9
retention = "30d"
)toml");
  REQUIRE(joined(parsed.problems).empty());
  const TeamConfig& team = parsed.team.config;
  CHECK(team.team.root == "/home/ann/teams");
  CHECK(team.team.lead == "team-lead");
  CHECK(team.permissions.rules.allow.at(0).text == "Bash(git status:*)");
  CHECK(team.permissions.rules.ask.size() == 1);
  CHECK(team.permissions.rules.deny.size() == 1);
  CHECK(team.permissions.default_action == Action::deny);
  CHECK(team.sandbox.hosts.allow.at(1).port == 443);
  CHECK(team.sandbox.timeout == std::chrono::seconds(90));
  CHECK(team.plans.decision == Action::allow);
  CHECK(team.plans.ceiling == PermissionMode::accept_edits);
  CHECK(team.plans.max_resubmissions == 3);
  CHECK(team.team.aliases == std::vector<std::string>{"lead", "leader"});
  CHECK(team.team.on_competing_consumer == OnCompetingConsumer::observe);
  CHECK(team.team.unresponsive_after == std::chrono::minutes(3));
  CHECK(team.modes.ceiling == PermissionMode::accept_edits);
  CHECK(team.modes.apply_timeout == std::chrono::seconds(10));
  CHECK(team.modes.wanted("mason") == PermissionMode::accept_edits);
  CHECK(team.modes.wanted("scout") == PermissionMode::plan);
  CHECK(team.modes.wanted("anybody") == PermissionMode::standard);
  CHECK(team.shutdown.remind_after == Duration(0));
  CHECK(team.shutdown.force_after == std::chrono::minutes(1));
  CHECK(team.shutdown.timeout == std::chrono::minutes(5));
  CHECK(team.shutdown.grace == std::chrono::seconds(2));
  CHECK_FALSE(team.shutdown.close_panes);
  CHECK_FALSE(team.shutdown.remove_members);
  CHECK_FALSE(team.shutdown.release_tasks);
  CHECK(team.shutdown.tmux == std::vector<std::string>{"/usr/bin/tmux", "-L", "team"});
  CHECK(team.delivery.exec.argv == std::vector<std::string>{"/usr/bin/notify", "--batch"});
  CHECK(team.delivery.exec.timeout == std::chrono::seconds(5));
  CHECK(team.delivery.file == "/home/ann/chat.jsonl");
  CHECK(team.permissions.approver == Answerer::lead);
  CHECK(team.sandbox.approver == Answerer::person);
  CHECK(team.plans.approver == Answerer::both);
  CHECK(team.shutdown.approver == Answerer::both);
  CHECK(team.delivery.methods == std::vector<DeliveryMethod>{DeliveryMethod::socket, DeliveryMethod::exec, DeliveryMethod::file, DeliveryMethod::tmux});
  CHECK(team.delivery.assume_busy_for == std::chrono::seconds(45));
  CHECK(team.delivery.max_delay == std::chrono::minutes(20));
  CHECK(team.delivery.urgent_max_delay == Duration(0));
  CHECK(team.delivery.urgent == std::vector<std::string>{"security"});
  CHECK(team.delivery.expire_after == std::chrono::minutes(1));
  CHECK(team.delivery.digest_after == std::chrono::seconds(90));
  CHECK(team.delivery.tmux.pane == "%7");
  CHECK(team.delivery.tmux.payload);
  CHECK(team.delivery.tmux.command == std::vector<std::string>{"tmux", "-L", "lead"});
  CHECK(team.delivery.tmux.settle == Duration(0));
  CHECK(team.approver.command == std::vector<std::string>{"/usr/bin/notify-send", "ask"});
  CHECK(team.approver.command_timeout == std::chrono::seconds(3));
  CHECK(team.lead.permissions);
  CHECK(team.lead.mcp_tools);
  CHECK_FALSE(team.compaction.enabled);
  CHECK(team.compaction.entries == 10);
  CHECK(team.compaction.size == Bytes{2048});
  CHECK(team.compaction.after == std::chrono::seconds(1));
  CHECK(team.delivery.idle == IdlePolicy::digest);
  CHECK(team.delivery.unknown == UnknownPolicy::hold);
  CHECK(team.delivery.unsent_reports == UnsentPolicy::first_lines);
  CHECK(team.delivery.allowed_senders == std::vector<std::string>{"user"});
  CHECK(team.limits.inbox_file == Bytes{10'000'000});
  CHECK(team.limits.retention == std::chrono::hours(24 * 30));

  std::string settings;
  for (const Setting& setting : parsed.team.settings)
    settings += setting.key + " = " + setting.value + " (" + setting.origin + ")\n";
  const auto says = [&](const std::string& line) { return settings.find(line + "\n") != std::string::npos; };
  CHECK(says("team.root = \"/home/ann/teams\" (t.toml:4)"));
  CHECK(says("team.poll_interval = \"250ms\" (t.toml:8)"));
  CHECK(says("team.accept_risks = [] (default)"));
  CHECK(says("sandbox.allow = [\"github.com\", \"*.github.com:443\"] (t.toml:22)"));
  CHECK(says("modes.members.scout = \"plan\" (t.toml:41)"));
  CHECK(says("shutdown.close_panes = false (t.toml:48)"));
  CHECK(says("limits.inbox_file = \"10MB\" (t.toml:92)"));
  CHECK(parsed.team.settings.size() == 83);
}

TEST_CASE("the team root follows CLAUDE_CONFIG_DIR, and an empty one counts as unset") {
  CHECK(parse(minimal, {"/home/ann", "/cfg", "", "", ""}).team.config.team.root == "/cfg/teams");
  CHECK(parse(minimal, {"/home/ann", "", "", "", ""}).team.config.team.root == "/home/ann/.claude/teams");
  CHECK(joined(parse(minimal, {}).problems) ==
        "t.toml:1:1: team.root cannot be chosen by default, because neither CLAUDE_CONFIG_DIR nor HOME is set; write it");
}

TEST_CASE("each mistake is named with its place, what is wrong and what is expected") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "1:1: team.name is missing; write the team's name, or a glob such as \"session-*\""},
      {"[team]\nname = 5",
       "2:8: team.name is the number 5; write a text in quotes\n"
       "2:8: team.name is missing; write the team's name, or a glob such as \"session-*\""},
      {"[team]\nname = \"../x\"",
       "2:8: team.name is not a team's name: only letters, digits, '.', '_', '-' and '*', at most 64"},
      {"[team]\nname = \"a\"\nlead = \"x/y\"",
       "3:8: team.lead is not a member's name: only letters, digits, '.', '_' and '-', at most 64"},
      {"[team]\nname = \"a\"\nroot = \"teams\"", "3:8: team.root is not absolute; begin it with \"/\" or \"~/\""},
      {"[team]\nname = \"a\"\nrole = \"boss\"",
       "3:8: team.role is \"boss\"; it must be \"leader\", \"interceptor\", \"observer\" or \"follower\""},
      {"[team]\nname = \"a\"\naliases = [\"a/b\"]",
       "3:12: team.aliases: \"a/b\" is not an inbox's name: letters, digits, '_' and '-', at most 64"},
      {"[team]\nname = \"a\"\nlead = \"boss\"\naliases = [\"lead\", \"boss\"]",
       "4:20: team.aliases: \"boss\" is the lead's own name; name only other spellings"},
      {"[team]\nname = \"a\"\ntasks = \"tasks\"", "3:9: team.tasks is not absolute; begin it with \"/\" or \"~/\""},
      {"[team]\nname = \"a-*\"\ntasks = \"/tasks\"",
       "3:9: team.tasks is one team's folder, but team.name stands for many; leave it out, or name the team"},
      {"[team]\nname = \"a\"\non_competing_consumer = \"fight\"",
       "3:25: team.on_competing_consumer is \"fight\"; it must be \"stop\", \"observe\" or \"ignore\""},
      {"[team]\nname = \"a\"\nunresponsive_after = \"0s\"", "3:22: team.unresponsive_after is 0ms; it must be from 1s to 7d"},
      {"[team]\nname = \"a\"\n[modes]\non_join = \"auto\"",
       "4:11: modes.on_join is \"auto\", wider than modes.ceiling (\"acceptEdits\")"},
      {"[team]\nname = \"a\"\n[modes]\nceiling = \"plan\"\n[modes.members]\nmason = \"default\"",
       "6:9: modes.members.mason is \"default\", wider than modes.ceiling (\"plan\")"},
      {"[team]\nname = \"a\"\n[modes.members]\nmason = \"default\"\nscout = \"fast\"",
       "5:9: modes.members.scout is \"fast\"; it must be \"plan\", \"default\", \"acceptEdits\", \"auto\", \"dontAsk\" "
       "or "
       "\"bypassPermissions\""},
      {"[team]\nname = \"a\"\n[modes.members]\n\"a/b\" = \"plan\"",
       "4:9: modes.members.a/b is not a member's name: letters, digits, '_' and '-', at most 64"},
      {"[team]\nname = \"a\"\n[modes]\nmembers = \"plan\"",
       "4:11: modes.members is a text; write it as a section, [modes.members]"},
      {"[team]\nname = \"a\"\n[modes]\non_joining = \"plan\"",
       "4:1: modes.on_joining is not a setting; did you mean \"on_join\"? known are \"ceiling\", \"on_join\", \"apply_timeout\" or \"members\""},
      {"[team]\nname = \"a\"\n[modes]\nceiling = \"auto\"",
       "4:11: modes.ceiling is dangerous: workers may be put into modes in which they do more than edit files unasked; "
       "if that is meant, write \"wide-modes\" into the list team.accept_risks"},
      {"[team]\nname = \"a\"\n[shutdown]\nforce_after = \"20s\"",
       "4:15: shutdown.force_after is 20s, not longer than shutdown.remind_after (20s): no reminder would come before "
       "the force"},
      {"[team]\nname = \"a\"\n[shutdown]\nforce_after = \"1min\"\ntimeout = \"1min\"",
       "4:15: shutdown.force_after is 1min, not shorter than shutdown.timeout (1min): it would never come to it"},
      {"[team]\nname = \"a\"\n[shutdown]\nforce_after = 60",
       "4:15: shutdown.force_after is the number 60; write it with a unit, in quotes, such as \"1s\""},
      {"[team]\nname = \"a\"\n[shutdown]\nclose_panes = \"no\"",
       "4:15: shutdown.close_panes is a text; write true or false, without quotes"},
      {"[team]\nname = \"a\"\n[shutdown]\ntmux = []",
       "4:8: shutdown.tmux names no program; write how tmux is called, such as [\"tmux\", \"-L\", \"team\"]"},
      {"[team]\nname = \"a\"\nbackend = \"nats\"", "3:11: team.backend is \"nats\"; it must be \"claude-code\", \"jsonl\", \"maildir\" or \"redis\""},
      {"[team]\nname = \"a\"\npoll_interval = 500",
       "3:17: team.poll_interval is the number 500; write it with a unit, in quotes, such as \"500ms\""},
      {"[team]\nname = \"a\"\npoll_interval = \"5m\"",
       "3:17: team.poll_interval = \"5m\" is not a duration; write a whole number with ms, s, min, h or d, such as "
       "\"500ms\""},
      {"[team]\nname = \"a\"\npoll_interval = \"10ms\"",
       "3:17: team.poll_interval is 10ms; it must be from 50ms to 1min"},
      {"[team]\nname = \"a\"\npoll_intervall = \"1s\"",
       "3:1: team.poll_intervall is not a setting; did you mean \"poll_interval\"? known are \"name\", \"root\", \"lead\", \"role\", \"backend\", "
       "\"folder\", \"redis_url\", \"members\", \"poll_interval\", \"watch\", \"aliases\", \"tasks\", \"on_competing_consumer\", \"unresponsive_after\" or "
       "\"accept_risks\""},
      {"[team]\nname = \"a\"\n[permision]\n",
       "3:2: permision is not a section; did you mean \"permissions\"? known are \"team\", \"permissions\", \"sandbox\", \"plans\", \"modes\", "
       "\"shutdown\", \"delivery\", \"approver\", \"tasks\", \"lead\", \"compaction\", \"cluster\" or \"limits\""},
      {"[team]\nname = \"a\"\n[log]\nlevel = \"info\"",
       "3:2: log is not a section; known are \"team\", \"permissions\", \"sandbox\", \"plans\", \"modes\", "
       "\"shutdown\", \"delivery\", \"approver\", \"tasks\", \"lead\", \"compaction\", \"cluster\" or \"limits\""},
      {"[team]\nname = \"a\"\ntransport = \"jsonl\"", "3:1: team.transport is not a setting; its name is team.backend now"},
      {"[team]\nname = \"a\"\n[hosts]\nid = \"x\"", "3:2: hosts is not a section; its name is cluster now"},
      {"[team]\nname = \"a\"\n[zebra]\n",
       "3:2: zebra is not a section; known are \"team\", \"permissions\", \"sandbox\", \"plans\", \"modes\", "
       "\"shutdown\", \"delivery\", \"approver\", \"tasks\", \"lead\", \"compaction\", \"cluster\" or \"limits\""},
      {"permissions = 1\n[team]\nname = \"a\"",
       "1:15: permissions is the number 1; write it as a section, [permissions]"},
      {"[team]\nname = \"a\"\n[permissions]\nallow = \"Bash\"",
       "4:9: permissions.allow is a text; write a list of texts, such as [\"…\", \"…\"]"},
      {"[team]\nname = \"a\"\n[permissions]\nallow = [true]",
       "4:10: permissions.allow holds true; every entry must be a text in quotes"},
      {"[team]\nname = \"a\"\n[permissions]\ndeny = [\"Write(/x)\"]",
       "4:9: permissions.deny: \"Write(/x)\" is not a permission rule: paths are judged by Edit rules only; write "
       "\"Edit(/x)\" "
       "(examples: \"Bash(git status *)\", \"Edit(/src/**)\", \"WebFetch(domain:example.com)\", "
       "\"mcp__server__tool\")"},
      {"[team]\nname = \"a\"\n[permissions]\nask = [\n  \"Bash(ls)\",\n  \"Bash(ls && pwd)\",\n]",
       "6:3: permissions.ask: \"Bash(ls && pwd)\" is not a permission rule: it is compared with one simple command at a "
       "time, so it cannot hold operators, redirections or doubled blanks; write one rule for each command, and Edit(…) "
       "for the file of a redirection (examples: \"Bash(git status *)\", \"Edit(/src/**)\", "
       "\"WebFetch(domain:example.com)\", \"mcp__server__tool\")"},
      {"[team]\nname = \"a\"\n[permissions]\ntimeout = \"8d\"",
       "4:11: permissions.timeout is 8d; it must be from 1s to 7d"},
      {"[team]\nname = \"a\"\n[permissions]\ndefault = \"maybe\"",
       "4:11: permissions.default is \"maybe\"; it must be \"ask\", \"deny\" or \"allow\""},
      {"[team]\nname = \"a\"\n[permissions]\ndefault = \"allow\"",
       "4:11: permissions.default is dangerous: every call that no rule matches is allowed without asking; "
       "if that "
       "is meant, write \"default-allow\" into the list team.accept_risks"},
      {"[team]\nname = \"a\"\n[sandbox]\ndefault = \"allow\"",
       "4:11: sandbox.default is dangerous: every domain that no pattern matches may be reached without asking; if "
       "that is "
       "meant, write \"any-host\" into the list team.accept_risks"},
      {"[team]\nname = \"a\"\n[sandbox]\nallow = [\"*\"]",
       "4:9: sandbox.allow is dangerous: \"*\" lets workers reach every host that is not denied; if that is meant, "
       "write "
       "\"any-host\" into the list team.accept_risks"},
      {"[team]\nname = \"a\"\n[plans]\nceiling = \"bypassPermissions\"",
       "4:11: plans.ceiling is dangerous: an approved plan may let a worker run everything unasked; if that is meant, "
       "write "
       "\"bypass-ceiling\" into the list team.accept_risks"},
      {"[team]\nname = \"a\"\naccept_risks = [\"default-alow\"]",
       "3:17: team.accept_risks: \"default-alow\" acknowledges nothing; known are \"default-allow\", \"any-host\", "
       "\"bypass-ceiling\" or \"wide-modes\""},
      {"[team]\nname = \"a\"\n[plans]\ndecision = \"deny\"",
       "4:12: plans.decision is \"deny\"; it must be \"ask\" or \"approve\""},
      {"[team]\nname = \"a\"\n[plans]\nmax_resubmissions = 0", "4:21: plans.max_resubmissions is 0; it must be from 1 to 1000"},
      {"[team]\nname = \"a\"\n[plans]\nmax_resubmissions = 1.5",
       "4:21: plans.max_resubmissions is a number with a fraction; write a whole number without quotes"},
      {"[team]\nname = \"a\"\n[sandbox]\ndeny = [\"https://x.com\"]",
       "4:9: sandbox.deny: \"https://x.com\" is not a host pattern: it is a URL; write a host, \"*.example.com\" for "
       "what is "
       "below it, or \"*\", each with \":port\" if only that port is meant, and IPv6 as \"[::1]\""},
      {"[team]\nname = \"a\"\n[delivery]\nexec = [\"notify\"]",
       "4:8: delivery.exec begins with \"notify\"; its first entry must be a program's absolute path, for no shell and "
       "no PATH "
       "is used"},
      {"[team]\nname = \"a\"\n[delivery]\nallowed_senders = [\"a/b\"]",
       "4:20: delivery.allowed_senders: \"a/b\" is not a sender's name: letters, digits, '_' and '-', at most 64"},
      {"[team]\nname = \"a\"\n[permissions]\napprover = \"nobody\"",
       "4:12: permissions.approver is \"nobody\"; it must be \"person\", \"lead\" or \"both\""},
      {"[team]\nname = \"a\"\n[shutdown]\napprover = [\"lead\"]",
       "4:12: shutdown.approver is a list; write \"person\", \"lead\" or \"both\""},
      {"[team]\nname = \"a\"\n[delivery]\nmethods = []",
       "4:11: delivery.methods names no way to the lead; leave it out, or name some of \"mcp\", \"stdin\", \"hook\", "
       "\"channel\", \"socket\", \"exec\", \"file\" or \"tmux\""},
      {"[team]\nname = \"a\"\n[delivery]\nmethods = [\"hook\", \"mail\"]",
       "4:11: delivery.methods names \"mail\"; known are \"mcp\", \"stdin\", \"hook\", \"channel\", \"socket\", "
       "\"exec\", \"file\" or \"tmux\""},
      {"[team]\nname = \"a\"\n[delivery]\nmethods = [\"hook\", \"socket\", \"hook\"]",
       "4:11: delivery.methods names \"hook\" twice"},
      {"[team]\nname = \"a\"\n[delivery]\nmethods = \"hook\"",
       "4:11: delivery.methods is a text; write a list of texts, such as [\"…\", \"…\"]"},
      {"[team]\nname = \"a\"\n[delivery]\nassume_busy_for = \"0s\"",
       "4:19: delivery.assume_busy_for is 0ms; it must be from 1s to 1h"},
      {"[team]\nname = \"a\"\n[delivery]\nmax_delay = \"0s\"",
       "4:13: delivery.max_delay is 0ms; it must be from 1s to 7d"},
      {"[team]\nname = \"a\"\n[delivery]\nexpire_after = \"59s\"",
       "4:16: delivery.expire_after is 59s; it must be from 1min to 365d"},
      {"[team]\nname = \"a\"\n[delivery]\nurgent = [\"a b\"]",
       "4:11: delivery.urgent: \"a b\" is not a sender's name: letters, digits, '_' and '-', at most 64"},
      {"[team]\nname = \"a\"\n[delivery]\nidle = \"never\"",
       "4:8: delivery.idle is \"never\"; it must be \"state\", \"digest\" or \"all\""},
      {"[team]\nname = \"a\"\n[delivery]\ntmux.pane = \"team:1.0\"",
       "4:13: delivery.tmux.pane is \"team:1.0\"; write the id that tmux gave it, such as \"%3\""},
      {"[team]\nname = \"a\"\n[delivery.tmux]\npane = \"%3;kill-server\"",
       "4:8: delivery.tmux.pane is \"%3;kill-server\"; write the id that tmux gave it, such as \"%3\""},
      {"[team]\nname = \"a\"\n[delivery.tmux]\npane = \"%\"",
       "4:8: delivery.tmux.pane is \"%\"; write the id that tmux gave it, such as \"%3\""},
      {"[team]\nname = \"a\"\n[delivery.tmux]\nsettle = \"6s\"",
       "4:10: delivery.tmux.settle is 6s; it must be from 0ms to 5s"},
      {"[team]\nname = \"a\"\n[delivery.tmux]\ncommand = []",
       "4:11: delivery.tmux.command names no program; write how tmux is called, such as [\"tmux\", \"-L\", \"team\"]"},
      {"[team]\nname = \"a\"\n[delivery]\ntmux = \"%3\"",
       "4:8: delivery.tmux is a text; write it as a section, [delivery.tmux]"},
      {"[team]\nname = \"a\"\n[approver]\ncommand = [\"notify-send\"]",
       "4:11: approver.command begins with \"notify-send\"; its first entry must be a program's absolute path, for no "
       "shell "
       "and no PATH is used"},
      {"[team]\nname = \"a\"\n[lead]\npermissions = \"yes\"",
       "4:15: lead.permissions is a text; write true or false, without quotes"},
      {"[team]\nname = \"a\"\n[delivery]\nfile = \"x.jsonl\"",
       "4:8: delivery.file is not absolute; begin it with \"/\" or \"~/\""},
      {"[team]\nname = \"a\"\n[limits]\nmessage = 1048576",
       "4:11: limits.message is the number 1048576; write it with a unit, in quotes, such as \"1MiB\""},
      {"[team]\nname = \"a\"\n[limits]\nmessage = \"1TB\"",
       "4:11: limits.message = \"1TB\" is not a size; write a whole number with B, KiB, MiB, GiB, kB, MB or GB, such "
       "as "
       "\"64MiB\""},
      {"[team]\nname = \"a\"\n[limits]\ninbox_file = \"2GiB\"",
       "4:14: limits.inbox_file is 2GiB; it must be from 64KiB to 1GiB"},
      {"[team]\nname = \"a\"\n[limits]\ninbox_file = \"100KiB\"\nmessage = \"200KiB\"",
       "5:11: limits.message is 200KiB, more than limits.inbox_file (100KiB)"},
      {"[team]\nname = \"a\"\nname = \"b\"", nullptr},
      {"[team\nname = \"a\"", nullptr},
      {"[team]\nname = \"\xFF\"", nullptr},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    const Parsed parsed = parse(text);
    std::string found = joined(parsed.problems);
    for (std::size_t at = 0; (at = found.find("t.toml:", at)) != std::string::npos;) found.erase(at, 7);
    if (expected != nullptr) CHECK(found == expected);
    if (expected == nullptr) CHECK(found.find(": this is not TOML: ") != std::string::npos);
  }
}

TEST_CASE("all mistakes of a file are told at once") {
  const Parsed parsed = parse("[team]\nname = \"a\"\nrol = \"leader\"\n[plans]\nmax_resubmissions = 0\n[limits]\nbatch = 1\n");
  CHECK(parsed.problems.size() == 3);
}

TEST_CASE("a dangerous setting stands once it is acknowledged, and is never quiet") {
  const Parsed parsed = parse(
      "[team]\nname = \"a\"\naccept_risks = [\"default-allow\", \"any-host\", \"bypass-ceiling\", \"wide-modes\"]\n"
      "[permissions]\ndefault = \"allow\"\nallow = [\"Bash\"]\n[sandbox]\ndefault = \"allow\"\n[plans]\nceiling = "
      "\"bypassPermissions\"\n[modes]\nceiling = \"dontAsk\"\non_join = \"dontAsk\"\n");
  CHECK(joined(parsed.problems).empty());
  REQUIRE(parsed.warnings.size() == 5);
  CHECK(parsed.warnings[0] ==
        "t.toml:6: permissions.allow holds \"Bash\": every command that can be split with certainty is allowed, "
        "whatever it does; write \"Bash(PROGRAM *)\"");
  CHECK(parsed.warnings[1] ==
        "t.toml: every call that no rule matches is allowed without asking "
        "(team.accept_risks says that this is meant)");
  CHECK(parsed.team.config.plans.ceiling == PermissionMode::bypass);
  CHECK(parsed.team.config.modes.on_join == PermissionMode::dont_ask);
}

TEST_CASE("rules that are most likely a slip stand, and are told with their line") {
  const Parsed parsed = parse(
      "[team]\nname = \"a\"\n[permissions]\nallow = [\n"
      "  \"Bash(git status:*)\",\n  \"Edit\",\n  \"WebSearch\",\n  \"Bahs\",\n  \"mcp__db__get\",\n  \"Read(//etc/ssl/**)\",\n"
      "  \"Bash(npm test)\",\n  \"WebFetch(domain:x.a.com)\",\n]\n"
      "deny = [\"Bash(git:*)\",\n  \"Frobnicate\", \"mcp__db\", \"Read(//etc/**)\", \"Bash(npm test --all)\", "
      "\"WebFetch(domain:*.a.com)\"]\n"
      "ask = [\"webfetch(url:x)\"]\n");
  CHECK(joined(parsed.problems).empty());
  std::vector<std::string> expected = {
      "t.toml:5: permissions.allow holds \"Bash(git status:*)\": never allows anything: the deny rule Bash(git:*) covers all of it",
      "t.toml:6: permissions.allow holds \"Edit\": any file may be written, this configuration too; write "
      "\"Edit(./FOLDER/**)\"",
      "t.toml:8: permissions.allow holds \"Bahs\": no client that is known here has a tool called \"Bahs\"; did you mean \"Bash\"?",
      "t.toml:9: permissions.allow holds \"mcp__db__get\": never allows anything: the deny rule mcp__db covers all of it",
      "t.toml:10: permissions.allow holds \"Read(//etc/ssl/**)\": never allows anything: the deny rule Read(//etc/**) covers all of it",
      "t.toml:12: permissions.allow holds \"WebFetch(domain:x.a.com)\": never allows anything: the deny rule "
      "WebFetch(domain:*.a.com) covers all of it",
      "t.toml:16: permissions.ask holds \"webfetch(url:x)\": no client that is known here has a tool called \"webfetch\"; did you "
      "mean \"WebFetch\"?",
      "t.toml:15: permissions.deny holds \"Frobnicate\": no client that is known here has a tool called \"Frobnicate\"; names are "
      "compared exactly"};
  CHECK(parsed.warnings == expected);
}

TEST_CASE("a rule that another list takes everything from is told, under the list where it can do nothing") {
  const Parsed parsed = parse(
      "[team]\nname = \"a\"\n[permissions]\nallow = [\"Bash(git push origin *)\", \"Bash(npm test)\"]\n"
      "ask = [\"Bash(git push *)\", \"Bash(rm *)\"]\n"
      "deny = [\"Bash(rm *)\", \"Bash(npm test)\"]\n");
  CHECK(joined(parsed.problems).empty());
  const std::vector<std::string> expected = {
      "t.toml:4: permissions.allow holds \"Bash(git push origin *)\": never allows anything: the ask rule "
      "Bash(git push *) covers all of it",
      "t.toml:4: permissions.allow holds \"Bash(npm test)\": never allows anything: the deny rule Bash(npm test) "
      "covers all of it",
      "t.toml:5: permissions.ask holds \"Bash(rm *)\": never asks about anything: it stands under deny too"};
  CHECK(parsed.warnings == expected);
}

TEST_CASE("a line of allow that is not understood allows nothing, and is named while the others hold") {
  const Parsed parsed = parse(
      "[team]\nname = \"a\"\n[permissions]\nallow = [\n  \"Bash(ls)\",\n  \"Bash(cd x && ls)\",\n  \"mcp__*\",\n"
      "  \"Skill(x *)\",\n]\n[sandbox]\nallow = [\"a.com\", \"https://x.com\"]\n");
  CHECK(joined(parsed.problems).empty());
  const auto& allowed = parsed.team.config.permissions.rules.allow;
  REQUIRE(allowed.size() == 2);
  CHECK(allowed.at(0).text == "Bash(ls)");
  CHECK(allowed.at(1).text == "Skill(x *)");
  CHECK(parsed.team.config.sandbox.hosts.allow.size() == 1);
  REQUIRE(parsed.warnings.size() == 3);
  CHECK(parsed.warnings.at(0).starts_with("t.toml:6: permissions.allow: \"Bash(cd x && ls)\" is not a permission rule"));
  CHECK(parsed.warnings.at(1).starts_with("t.toml:7: permissions.allow: \"mcp__*\" would allow nothing"));
  CHECK(parsed.warnings.at(2).starts_with("t.toml:11: sandbox.allow: \"https://x.com\" is not a host pattern"));
  for (const std::string& warning : parsed.warnings)
    CHECK(warning.ends_with("; this line allows nothing, and the others hold"));
  CHECK(parsed.team.slips == parsed.warnings);
}

TEST_CASE("deny and ask rules that are most likely no fence are told with what was meant") {
  const auto told = [](const std::string& rule) {
    const Parsed parsed = parse("[team]\nname = \"a\"\n[permissions]\ndeny = ['" + rule + "']\n");
    CHECK(joined(parsed.problems).empty());
    CHECK(parsed.team.slips == parsed.warnings);
    const std::string begin = "t.toml:4: permissions.deny holds ";
    return parsed.warnings.empty() ? "" : parsed.warnings.front().substr(parsed.warnings.front().find(": ", begin.size()) + 2);
  };
  CHECK(told("Bash(git:push:*)") ==
        "hardly any program is called \"git:push\"; did you mean \"Bash(git push:*)\"?");
  CHECK(told("Bash(rm:-rf /)") == "hardly any program is called \"rm:-rf\"; did you mean \"Bash(rm -rf /)\"?");
  CHECK(told("Bash(curl)") == "only \"curl\" without arguments meets it; with any it is \"Bash(curl:*)\"");
  CHECK(told("Bash(run_in_background:yes)") == "no call meets it: \"run_in_background\" is true or false");
  CHECK(told("Read(limit:many)") == "no call meets it: \"limit\" is a number");
  CHECK(told("mcp__") == "no tool meets it: it names no server; write \"mcp__SERVER\" or \"mcp__SERVER__TOOL\"");
  CHECK(told("Read(/etc/**)") == "begins at the worker's folder; from the root on it is \"Read(//etc/**)\"");
  CHECK(told("Read($HOME/.ssh/**)") == "variables stand for nothing here; write \"Read(~/.ssh/**)\"");
  CHECK(told("bash") == "no client that is known here has a tool called \"bash\"; did you mean \"Bash\"?");
  for (const char* rule : {"Bash(git push:*)", "Bash(rm *)", "Bash(git * main)", "Bash(sudo *)", "Bash(/bin/rm *)", "Bash(./x *)",
                           "Bash(FOO=1 npm *)", "Bash(* --force)", "Bash(run_in_background:true)",
                           "Bash(timeout:*)", "Read(//etc/**)", "Read(~/.ssh/**)", "Read(//**/.env)", "Skill(deploy:*)",
                           "PowerShell(Remove-Item *)", "WebFetch(domain:a.com)", "mcp__a", "mcp__*", "Agent(a:b)", "Read(limit:5)"}) {
    INFO(rule);
    CHECK(told(rule).empty());
  }
}

TEST_CASE("a deny rule that ends at the worker's folder is told with the one that holds in the main checkout too") {
  const auto told = [](const std::string& lists) {
    const Parsed parsed = parse("[team]\nname = \"a\"\n[permissions]\n" + lists + "\n");
    CHECK(joined(parsed.problems).empty());
    CHECK(parsed.team.slips.empty());
    return joined(parsed.warnings);
  };
  const std::string reaches = "holds below each worker's folder: a worker in a worktree reaches those of the main checkout; ";
  CHECK(told("deny = [\"Read(.env)\"]") ==
        "t.toml:4: permissions.deny holds \"Read(.env)\": " + reaches + "\"Read(//**/.env)\" covers both");
  CHECK(told("ask = [\"Edit(/secret/**)\"]") ==
        "t.toml:4: permissions.ask holds \"Edit(/secret/**)\": " + reaches + "\"Edit(//**/secret/**)\" covers both");
  CHECK(told("deny = [\"Read(.env)\", \"Read(//**/.env)\"]").empty());
  CHECK(told("ask = [\"Read(.env)\"]\ndeny = [\"Read(//**/.env)\"]").empty());
  CHECK(told("deny = [\"Read(.env)\", \"Read(//**/.env.local)\"]").find(reaches) != std::string::npos);
  CHECK(told("deny = [\"Read(.env)\", \"Edit(//**/.env)\"]").find(reaches) != std::string::npos);
  CHECK(told("deny = [\"Read(~/.ssh/**)\", \"Read(//etc/**)\"]").empty());
}

TEST_CASE("durations and sizes are shown in the unit that fits") {
  const auto shown = [](const char* key, const char* value) {
    const Parsed parsed = parse(minimal + "[limits]\n" + key + " = \"" + value + "\"\n");
    REQUIRE(joined(parsed.problems).empty());
    for (const Setting& setting : parsed.team.settings) {
      if (setting.key == std::string("limits.") + key) return setting.value;
    }
    return std::string();
  };
  CHECK(shown("retention", "48h") == "\"2d\"");
  CHECK(shown("retention", "90min") == "\"90min\"");
  CHECK(shown("retention", "3600001ms") == "\"3600001ms\"");
  CHECK(shown("inbox_file", "131072B") == "\"128KiB\"");
  CHECK(shown("inbox_file", "1024MiB") == "\"1GiB\"");
  for (const char* value :
       {"", "1", "ms", "-1s", "1.5s", " 1s", "1 s", "1S", "99999999999999999999s", "9223372036854775807d"}) {
    INFO(value);
    CHECK_FALSE(parse(minimal + "[limits]\nretention = \"" + value + "\"\n").problems.empty());
  }
}

TEST_CASE("files are read from where the command line says, by name, and the daemon has its own") {
  const Folder folder;
  folder.write("b.toml", "[team]\nname = \"beta\"\n");
  folder.write("a.toml", "[team]\nname = \"alpha\"\n");
  folder.write("notes.txt", "not ours");
  const std::string daemon =
      folder.write("d/daemon.toml", "state_dir = \"/var/lib/ip\"\n[log]\nlevel = \"warn\"\nformat = \"json\"\n");
  const Loaded loaded = load({{}, folder / "", daemon}, ann);
  REQUIRE(joined(loaded.problems).empty());
  REQUIRE(loaded.teams.size() == 2);
  CHECK(loaded.teams[0].config.team.name == "alpha");
  CHECK(loaded.daemon.state_dir == "/var/lib/ip");
  CHECK(loaded.daemon.socket == "/run/user/1000/inbox-poller/control.sock");
  CHECK(loaded.daemon.log.level == LogLevel::warn);
  CHECK(loaded.daemon.log.format == LogFormat::json);
  CHECK(loaded.daemon_settings.at(0).origin == daemon + ":1");
  CHECK(load({{folder / "b.toml"}, "", ""}, ann).teams.size() == 1);
}

TEST_CASE("with nothing named, the folder below XDG_CONFIG_HOME is read, and daemon.toml beside it") {
  const Folder folder;
  folder.write("inbox-poller/teams.d/a.toml", minimal);
  folder.write("inbox-poller/daemon.toml", "socket = \"/run/x.sock\"\n");
  Environment environment = ann;
  environment.xdg_config_home = folder / "";
  const Loaded loaded = load({}, environment);
  REQUIRE(joined(loaded.problems).empty());
  CHECK(loaded.teams.size() == 1);
  CHECK(loaded.daemon.socket == "/run/x.sock");
  CHECK(loaded.daemon.state_dir == "/home/ann/.local/state/inbox-poller");
}

TEST_CASE("without a runtime folder the control socket is in the state folder, and a path too long is refused") {
  const Folder folder;
  const std::string team = folder.write("a.toml", minimal);
  CHECK(load({{team}, "", ""}, {"/home/ann", "", "", "/st", ""}).daemon.socket == "/st/inbox-poller/control.sock");
  const Loaded loaded = load({{team}, "", ""}, {"/home/ann", "", "", "", "/" + std::string(120, 'r')});
  CHECK(joined(loaded.problems).find("socket is 147 characters long") != std::string::npos);
}

TEST_CASE("a file that others may write is refused with the command that closes it") {
  const Folder folder;
  const std::string file = folder.write("a.toml", minimal);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  CHECK(joined(load({{file}, "", ""}, ann).problems) ==
        file + ": others may write it (mode 0620); close it: chmod go-w " + file);
  fs::create_symlink(file, folder / "link.toml");
  CHECK(load({{folder / "link.toml"}, "", ""}, ann).problems.size() == 1);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::remove);
  CHECK(joined(load({{folder / "link.toml"}, "", ""}, ann).problems).empty());
}

TEST_CASE("a folder in which others may replace the file is refused as well") {
  const Folder folder;
  const std::string file = folder.write("open/a.toml", minimal);
  fs::permissions(folder / "open", fs::perms::others_write, fs::perm_options::add);
  CHECK(joined(load({{file}, "", ""}, ann).problems).find(": chmod go-w " + (folder / "open")) != std::string::npos);
  fs::create_symlink(file, folder / "link.toml");
  CHECK(load({{folder / "link.toml"}, "", ""}, ann).problems.size() == 1);
}

TEST_CASE("nobody else may write to any folder above, as written or behind a link - a sticky one holds what is ours") {
  const Folder folder;
  const std::string file = folder.write("a/it's/b/a.toml", minimal);
  const std::string above = folder / "a/it's";
  fs::create_symlink(folder / "a/it's/b", folder / "link");
  for (const std::string& named : {file, folder / "link/a.toml"}) {
    fs::permissions(above, fs::perms::group_write, fs::perm_options::add);
    CHECK(joined(load({{named}, "", ""}, ann).problems).find("chmod go-w '" + (folder / "a/it'\\''s") + "'") !=
          std::string::npos);
    fs::permissions(above, fs::perms::sticky_bit, fs::perm_options::add);
    CHECK(joined(load({{named}, "", ""}, ann).problems).empty());
    fs::permissions(above, fs::perms::sticky_bit | fs::perms::group_write, fs::perm_options::remove);
  }
  CHECK(joined(load({{file}, "", ""}, ann).problems).empty());
}

TEST_CASE("a root that is a link is followed once and told, and the tasks stay beside the link") {
  const Folder folder;
  fs::create_directories(folder / "data/teams");
  fs::create_directories(folder / "claude");
  fs::create_symlink(folder / "data/teams", folder / "claude/teams");
  const Parsed parsed = parse("[team]\nname = \"t\"\nroot = \"" + (folder / "claude/teams/") + "\"\n");
  REQUIRE(joined(parsed.problems).empty());
  CHECK(joined(parsed.warnings).find("leads by a link to " + (folder / "data/teams")) != std::string::npos);
  const TeamSettings& team = parsed.team.config.team;
  CHECK(team.root == folder / "data/teams");
  CHECK(team.task_folder("t") == folder / "claude/tasks/t");
}

TEST_CASE("a file of another user is refused") {
  if (geteuid() != 0) return;  // only root can give a file away
  const Folder folder;
  const std::string file = folder.write("a.toml", minimal);
  REQUIRE(chown(file.c_str(), 12345, 12345) == 0);
  CHECK(joined(load({{file}, "", ""}, ann).problems) ==
        file + ": belongs to user 12345; it must belong to you or root: chown 0 " + file);
}

TEST_CASE("what is no readable file is named, and the other files are still checked") {
  const Folder folder;
  const std::string bad = folder.write("bad.toml", "[team]\nname = 1\n");
  fs::create_directory(folder / "dir.toml");
  REQUIRE(mkfifo((folder / "fifo.toml").c_str(), 0600) == 0);
  folder.write("huge.toml", std::string((1 << 20) + 1, '#'));
  const Loaded loaded =
      load({{folder / "dir.toml", folder / "fifo.toml", folder / "huge.toml", folder / "none.toml", bad}, "", ""}, ann);
  const std::string problems = joined(loaded.problems);
  CHECK(problems.find("dir.toml: is not a regular file") != std::string::npos);
  CHECK(problems.find("fifo.toml: is not a regular file") != std::string::npos);
  CHECK(problems.find("huge.toml: is larger than 1 MiB") != std::string::npos);
  CHECK(problems.find("none.toml: cannot be opened: No such file or directory") != std::string::npos);
  CHECK(problems.find("bad.toml:2:8: team.name is the number 1") != std::string::npos);
  CHECK(joined(load({{}, folder / "nowhere", ""}, ann).problems).find("nowhere: cannot be listed") !=
        std::string::npos);
}

TEST_CASE("where no team file is named and none is there, every team is observed and none is written to") {
  const Folder folder;
  Environment environment = ann;
  environment.xdg_config_home = folder / "";
  while (environment.xdg_config_home.ends_with('/')) environment.xdg_config_home.pop_back();
  const std::string files = environment.xdg_config_home + "/inbox-poller/teams.d";
  CHECK(team_folder(environment) == files);
  const auto is_observed = [&] {
    const Loaded loaded = load({}, environment);
    CHECK(loaded.unconfigured == is_unconfigured({}, environment));
    if (!loaded.unconfigured) return false;
    REQUIRE(loaded.teams.size() == 1);
    CHECK(loaded.problems.empty());
    CHECK(loaded.teams[0].config.team.role == Role::observer);
    CHECK(loaded.teams[0].config.team.claims("any"));
    CHECK(joined(loaded.warnings).find("nothing is configured") != std::string::npos);
    return true;
  };
  CHECK(is_observed());
  fs::create_directories(files);
  CHECK(is_observed());
  std::ofstream(files + "/.hidden.toml") << "x";
  std::ofstream(files + "/notes.txt") << "x";
  CHECK(is_observed());
  std::ofstream(files + "/broken.toml") << "x";  // somebody has configured something: a mistake is told, not passed over
  CHECK_FALSE(is_observed());
  CHECK_FALSE(load({}, environment).problems.empty());
  CHECK_FALSE(is_unconfigured({{"a.toml"}, "", ""}, environment));
  CHECK_FALSE(is_unconfigured({{}, "/nowhere", ""}, environment));  // what is named has to be there
}

TEST_CASE("two files for one team are a problem, also when a glob covers a name") {
  const Folder folder;
  folder.write("a.toml", "[team]\nname = \"session-*\"\n");
  folder.write("b.toml", "[team]\nname = \"session-12ab\"\n");
  folder.write("c.toml", "[team]\nname = \"session-12ab\"\nroot = \"/elsewhere\"\n");
  const Loaded loaded = load({{}, folder / "", ""}, ann);
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0] ==
        folder / "b.toml" + ": team.name = \"session-12ab\" and " + (folder / "a.toml") +
            ": team.name = \"session-*\" claim the same team below /home/ann/.claude/teams; each team "
            "needs exactly one file");
}

TEST_CASE("two files for one mailbox are a problem whatever names they give it, and two leads of one folder are none") {
  const Folder folder;
  folder.write("a.toml", "[team]\nname = \"coord\"\nbackend = \"maildir\"\nfolder = \"/mail\"\nlead = \"ada\"\n");
  folder.write("b.toml", "[team]\nname = \"pair\"\nbackend = \"maildir\"\nfolder = \"/mail\"\nlead = \"ada\"\n");
  folder.write("c.toml", "[team]\nname = \"other\"\nbackend = \"maildir\"\nfolder = \"/mail\"\nlead = \"bob\"\n");
  const Loaded loaded = load({{}, folder / "", ""}, ann);
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0] == folder / "b.toml" + ": team.name = \"pair\" and " + (folder / "a.toml") +
                                  ": team.name = \"coord\" claim the same mailbox; each team needs exactly one file");
}

TEST_CASE("a JSONL team is one folder with a name, and what its lines cannot carry is told") {
  const Parsed good = parse("[team]\nname = \"crew\"\nbackend = \"jsonl\"\nfolder = \"~/p/.team/\"\nmembers = [\"alice\"]");
  CHECK(good.problems.empty());
  CHECK(good.team.config.team.folder == "/home/ann/p/.team");
  CHECK(good.team.config.team.team_folder("crew") == "/home/ann/p/.team");
  CHECK(good.team.config.team.inbox_folder("crew") == "/home/ann/p/.team/inbox");
  CHECK(good.team.config.team.task_folder("crew") == "/home/ann/p/.tasks");
  const std::string jsonl = "[team]\nname = \"crew\"\nbackend = \"jsonl\"\n";
  CHECK(parse(jsonl).problems.size() == 1);
  CHECK(parse("[team]\nname = \"a\"\nfolder = \"/p\"").problems.size() == 1);
  CHECK(parse("[team]\nname = \"c*\"\nbackend = \"jsonl\"\nfolder = \"/p\"").problems.size() == 1);
  const std::string whole = jsonl + "folder = \"/p/.mailboxes\"\n";
  CHECK(parse(whole + "[modes]\non_join = \"plan\"").problems.size() == 1);
  CHECK(parse(whole + "[permissions]\ndefault = \"deny\"\n[sandbox]\ndefault = \"deny\"\n[shutdown]\n"
                      "force_after = \"1min\"\n[compaction]\nentries = 5").warnings.size() == 4);
  CHECK(parse(whole).team.config.team.inbox_folder("crew") == "/p/.mailboxes");
}

TEST_CASE("a maildir is one folder and one actor's mail, and what its letters cannot carry is told") {
  const std::string maildir = "[team]\nname = \"pair\"\nbackend = \"maildir\"\nfolder = \"/p/root\"\n";
  const std::string whole = maildir + "lead = \"boss\"\n";
  const Parsed good = parse(whole + "[tasks]\ndone_command = [\"/bin/true\"]\nmax_attempts = 5");
  CHECK(good.problems.empty());
  CHECK(good.warnings.empty());
  CHECK(good.team.config.team.inbox_folder("pair") == "/p/root/boss/new");
  CHECK(good.team.config.tasks.max_attempts == 5);
  CHECK_FALSE(good.team.config.team.takes_anybody());
  CHECK(parse(whole + "members = \"*\"").team.config.team.takes_anybody());
  CHECK(parse(whole + "members = \"all\"").problems.size() == 1);
  CHECK(parse(maildir).problems.size() == 1);
  CHECK(parse(maildir + "lead = \"tmp\"").problems.size() == 1);
  CHECK(parse(whole + "role = \"interceptor\"").problems.size() == 1);
  CHECK(parse(whole + "[modes]\non_join = \"plan\"").problems.size() == 1);
  CHECK(parse(whole + "[plans]\ndecision = \"ask\"\n[shutdown]\ntimeout = \"1min\"\n[compaction]\nentries = 5")
            .warnings.size() == 3);
  CHECK(parse("[team]\nname = \"a\"\n[tasks]\nmax_attempts = 5").warnings.size() == 1);
}

TEST_CASE("a Redis team names its engine and an actor, and no password is repeated") {
  const std::string redis = "[team]\nname = \"pair\"\nbackend = \"redis\"\nlead = \"boss\"\n";
  const std::string whole = redis + "redis_url = \"redis+unix:///run/r.sock?user=ann&secret=/s/ann#shared\"\n";
  const Parsed good = parse(whole + "members = [\"ada\"]\n[tasks]\nmax_attempts = 5");
  CHECK(good.problems.empty());
  CHECK(good.warnings.empty());
  CHECK(good.team.config.team.redis.team == "shared");
  CHECK(good.team.config.team.redis.secret == "/s/ann");
  CHECK(good.team.config.team.inbox_folder("pair").empty());
  CHECK(parse(redis + "redis_url = \"redis://h\"").team.config.team.redis.team == "pair");
  CHECK(parse(whole + "[plans]\ndecision = \"ask\"\n[compaction]\nentries = 5").warnings.size() == 2);
  for (const std::string& wrong : {std::string(), std::string("redis_url = \"/run/r.sock\""), std::string("redis_url = \"redis://:geheim@h\""),
                                  std::string("redis_url = \"redis://h?password=geheim\""), std::string("redis_url = \"redis://h#a b\"")}) {
    const auto problems = parse(redis + wrong).problems;
    CAPTURE(wrong, joined(problems));
    CHECK(problems.size() == 1);
    CHECK(joined(problems).find("geheim") == std::string::npos);
    CHECK(joined(problems).find("team.redis_url") != std::string::npos);
  }
  CHECK(parse(whole + "role = \"interceptor\"").problems.size() == 1);
  CHECK(parse(whole + "folder = \"/p\"").problems.size() == 1);
  CHECK(parse("[team]\nname = \"a\"\nredis_url = \"redis://h\"").problems.size() == 1);
  CHECK(parse("[team]\nname = \"a.b\"\nbackend = \"redis\"\nlead = \"boss\"\nredis_url = \"redis://h\"").problems.size() == 1);
}

TEST_CASE("the examples that are shipped load without problems") {
  const fs::path examples = fs::path(INBOX_POLLER_SOURCE) / "deploy/examples";
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".toml") continue;
    ++seen;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> problems;
    std::vector<std::string> warnings;
    parse_team(text, entry.path().filename().string(), ann, problems, warnings);
    CHECK(joined(problems).empty());
    CHECK(joined(warnings).empty());
  }
  CHECK(seen == 10);
}

TEST_CASE("[cluster] is read whole, and what is wrong in it is told") {
  const std::string leader = R"([team]
name = "farm"
[cluster]
redis_url = "rediss://engine.lan:6379"
id = "farm"
node = "h1"
leaders = ["h1", "h4"]
secret = "/etc/secret"
[cluster.members]
h2 = ["w3", "w4"]
)";
  const Parsed good = parse(leader);
  REQUIRE(good.problems.empty());
  const ClusterSettings& hosts = good.team.config.cluster;
  CHECK(hosts.is_set());
  CHECK(hosts.id == "farm");
  CHECK(hosts.leads == std::vector<std::string>{"h1", "h4"});
  CHECK(hosts.members == std::vector<std::pair<std::string, std::vector<std::string>>>{{"h2", {"w3", "w4"}}});
  CHECK(hosts.queued == 20'000);
  CHECK_FALSE(parse("[team]\nname = \"a\"").team.config.cluster.is_set());

  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = leader;
    text.replace(text.find(from), from.size(), to);
    std::string all;
    for (const auto& problem : parse(text).problems) all += problem + "\n";
    return all;
  };
  CHECK(with("rediss://engine.lan:6379", "").find("cluster.redis_url is missing") != std::string::npos);
  CHECK(with("rediss://engine.lan:6379", "http://x").find("is not the address of a Redis") != std::string::npos);
  const auto leaky = with("rediss://engine.lan:6379", "redis://ann:tiger@x");
  CHECK(leaky.find("cluster.secret") != std::string::npos);
  CHECK(leaky.find("tiger") == std::string::npos);
  CHECK(with("node = \"h1\"", "node = \"h9\"").find("does not name this node, \"h9\"") != std::string::npos);
  CHECK(with("\"w4\"", "\"team-lead\"").find("names the lead") != std::string::npos);
  CHECK(with("\"w4\"]", "\"w4\"]\nh3 = [\"w3\"]").find("lives on \"h2\" already") != std::string::npos);
  CHECK(with("name = \"farm\"", "name = \"farm-*\"").find("stands for many") != std::string::npos);
  CHECK(with("name = \"farm\"", "name = \"farm\"\nrole = \"follower\"").find("which is a follower") != std::string::npos);
  CHECK(with("name = \"farm\"", "name = \"farm\"\nrole = \"interceptor\"").find("\"leader\" and \"follower\" only") !=
        std::string::npos);
  CHECK(parse("[team]\nname = \"a\"\n[cluster]\n").problems.at(0).find("cluster.redis_url is missing") != std::string::npos);
  const Parsed alone = parse("[team]\nname = \"a\"\nrole = \"follower\"");
  REQUIRE(alone.problems.size() == 1);
  CHECK(alone.problems[0].find("cluster.redis_url is missing: a follower") != std::string::npos);
}

}  // namespace

}  // namespace inbox_poller::config::load_test

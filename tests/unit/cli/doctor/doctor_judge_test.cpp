// What the doctor makes of each thing it may see.
#include "poller/cli/doctor/judge.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"

namespace inbox_poller::doctor_judge_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::cli;
using inbox_poller::test::Contains;
namespace json = boost::json;

namespace {

operations::Status said(const boost::json::object& status) { return operations::decode<operations::Status>(status); }

constexpr EpochMs now = 1'770'477'646'348;
constexpr EpochMs minute = 60'000;

/// "warning inbox.long, error …"
std::string summary(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += (text.empty() ? "" : ", ") + std::string(to_string(finding.severity)) + ' ' + finding.check;
  return text;
}

FileStat file(EpochMs age_ms, FileKind kind = FileKind::regular, unsigned mode = 0600) {
  FileStat stat;
  stat.kind = kind;
  stat.mode = mode;
  stat.uid = 1000;
  stat.size = 100;
  stat.mtime_ns = (now - age_ms) * 1'000'000;
  return stat;
}

TeamPlace team(const std::string& name = "demo") {
  TeamPlace place{name, {}};
  place.config.source = "/etc/demo.toml";
  place.config.team.root = "/teams";
  return place;
}

InboxSight inbox(Whose whose = Whose::member) {
  InboxSight sight;
  sight.name = "alice";
  sight.path = "/teams/demo/inboxes/alice.json";
  sight.whose = whose;
  sight.stat = file(minute);
  sight.outcome = ReadOutcome::document;
  return sight;
}

std::string judged(const InboxSight& sight) { return summary(judge_inbox(team(), sight, now)); }
std::string judged(const LockSight& sight) { return summary(judge_lock(sight, now)); }

}  // namespace

TEST_CASE("an ordinary inbox is nothing to speak of") {
  CHECK(judged(inbox()).empty());
  InboxSight busy = inbox();
  busy.entries = 1005;
  busy.unread = 5;
  busy.oldest_unread_ms = now - 9 * minute;
  CHECK(judged(busy).empty());
}

TEST_CASE("an inbox that no client can read is an error, and none yet while it may be in the middle of a write") {
  for (const auto& [outcome, check] :
       {std::pair(ReadOutcome::empty, "inbox.empty"), {ReadOutcome::torn, "inbox.torn"}}) {
    InboxSight sight = inbox();
    sight.outcome = outcome;
    sight.entries = sight.unread = 1;  // entries before the mistake: `inbox unread` shows none of them
    sight.oldest_unread_ms = now - 11 * minute;
    CHECK(judged(sight) == "error " + std::string(check));
    CHECK_THAT(judge_inbox(team(), sight, now)[0].mend, Contains("printf '[]' > /teams/demo/inboxes/alice.json"));
    sight.stat = file(1000);
    CHECK(judged(sight) == "note " + std::string(check));
    CHECK(judge_inbox(team(), sight, now)[0].mend.empty());
  }
  InboxSight sight = inbox();
  sight.outcome = ReadOutcome::torn;
  sight.detail = sight.path + " is not one JSON array: it ends early";
  CHECK(judge_inbox(team(), sight, now)[0].what == "no client reads the inbox: it is not one JSON array: it ends early");
  sight.outcome = ReadOutcome::not_regular;
  CHECK(judged(sight) == "error inbox.not_regular");
  sight.outcome = ReadOutcome::fault;
  CHECK(judged(sight) == "error inbox.fault");
  sight.outcome = ReadOutcome::too_large;
  CHECK(judged(sight) == "error inbox.too_large");
  CHECK_THAT(judge_inbox(team(), sight, now)[0].mend, Contains("/etc/demo.toml"));
  sight = inbox();
  sight.bom = true;
  CHECK(judged(sight) == "error inbox.bom");
}

TEST_CASE("an inbox that grows, holds odd entries or is not read is a warning with the command for it") {
  InboxSight sight = inbox();
  sight.entries = 1001;
  CHECK(judged(sight) == "warning inbox.long");
  CHECK(judge_inbox(team(), sight, now)[0].mend == "inbox-poller inbox clear alice --team demo");
  sight = inbox();
  sight.stat->size = team().config.limits.inbox_file.count / 2 + 1;
  CHECK(judged(sight) == "warning inbox.large");
  sight = inbox();
  sight.bad = 1;
  CHECK(judged(sight) == "warning inbox.bad_entries");
  sight = inbox();
  sight.unread = sight.entries = 1;
  sight.oldest_unread_ms = now - 11 * minute;
  CHECK(judged(sight) == "warning inbox.unread");
  CHECK(judge_inbox(team(), sight, now)[0].mend == "inbox-poller inbox unread alice --team demo");
  sight = inbox();
  sight.stat = file(-2 * minute);
  CHECK(judged(sight) == "warning clock.future");
}

TEST_CASE("an inbox of nobody comes with the alias line, and only one of nobody does") {
  InboxSight sight = inbox(Whose::nobody);
  sight.unread = sight.entries = 1;
  sight.oldest_unread_ms = now - 11 * minute;
  CHECK(judged(sight) == "warning inbox.orphaned");
  CHECK_THAT(judge_inbox(team(), sight, now)[0].mend, Contains("aliases = [\"alice\"]"));
  for (const Whose whose : {Whose::lead, Whose::member, Whose::alias, Whose::sender, Whose::unknown})
    CHECK(judged(inbox(whose)).empty());
}

TEST_CASE("a lock is judged by what it is and how long nobody touched it") {
  const std::string path = "/teams/demo/inboxes/alice.json.lock";
  CHECK(judged(LockSight{path, file(9000, FileKind::directory), true}).empty());
  CHECK(judged(LockSight{path, file(-5000, FileKind::directory), true}).empty());
  CHECK(judged(LockSight{path, file(11'000, FileKind::directory), true}) == "warning lock.abandoned");
  CHECK(judged(LockSight{path, file(-11'000, FileKind::directory), true}) == "error lock.future");
  CHECK(judged(LockSight{path, file(0, FileKind::directory), false}) == "error lock.not_empty");
  CHECK(judged(LockSight{path, file(1000), true}) == "note lock.file");
  CHECK(judged(LockSight{path, file(31'000), true}) == "error lock.file");
  CHECK(judged(LockSight{path, file(0, FileKind::symlink), true}) == "error lock.foreign");
  CHECK(judge_lock({path, file(11'000, FileKind::directory), true}, now)[0].mend == "rmdir " + path);
}

TEST_CASE("owner and mode: what others may write is an error, what they may read is a warning where it matters") {
  const auto access = [](unsigned mode, Closed closed, FileKind kind = FileKind::regular) {
    return summary(judge_access("/x y", file(0, kind, mode), 1000, closed));
  };
  CHECK(access(0600, Closed::to_readers).empty());
  CHECK(access(0644, Closed::to_writers).empty());
  CHECK(access(0644, Closed::to_readers) == "warning access.readable");
  CHECK(access(0620, Closed::to_writers) == "error access.writable");
  CHECK(access(0777, Closed::to_writers, FileKind::directory) == "error access.writable");
  CHECK(access(01777, Closed::to_writers, FileKind::directory).empty());
  CHECK(access(0500, Closed::to_writers, FileKind::directory) == "error access.closed");
  CHECK(access(0400, Closed::to_writers).empty());
  CHECK(access(0400, Closed::to_readers) == "error access.closed");
  CHECK(access(0555, Closed::to_readers, FileKind::directory) == "error access.closed");
  CHECK(judge_access("/s", file(0, FileKind::directory, 0555), 1000, Closed::to_readers)[0].mend == "chmod u+rwX,go= /s");
  CHECK(summary(judge_access("/x", file(0), 1001, Closed::to_writers)) == "error access.owner");
  CHECK(judge_access("/x y", file(0, FileKind::regular, 0622), 1000, Closed::to_writers)[0].mend ==
        "chmod go-w '/x y'");
  CHECK(judge_access("/x", file(0, FileKind::regular, 0666), 1000, Closed::to_readers)[0].mend == "chmod go-rwx /x");
}

TEST_CASE("the roster: a ghost, a torn one, a name old clients lose, a lead by another name") {
  const auto sight = [](Result<schema::Roster> roster) {
    return TeamSight{std::move(roster), "team-lead", {inbox()}, {}, std::nullopt};
  };
  schema::Roster roster;
  roster.lead_agent_id = "team-lead@demo";
  CHECK(summary(judge_roster(team(), sight(roster))) == "ok roster");
  CHECK(summary(judge_roster(team("Rig_Upper"), sight(roster))) == "warning team.name, ok roster");
  CHECK(summary(judge_roster(team(), sight(Error{"roster.missing", "none"}))) == "warning team.ghost");
  CHECK(summary(judge_roster(team(), sight(Error{"roster.syntax", "0 bytes"}))) == "error roster.unreadable");
  const Findings empty = judge_roster(team(), sight(Error{"roster.empty", "it holds nothing; restore the file"}));
  CHECK(empty[0].what == "it holds nothing");  // what to do is said with the daemon in mind
  TeamPlace renamed = team();
  renamed.config.team.lead = "boss";
  const Findings findings = judge_roster(renamed, sight(roster));
  CHECK(summary(findings) == "warning roster.lead, ok roster");
  CHECK_THAT(findings[0].mend, Contains("lead = \"team-lead\""));
}

TEST_CASE("members: a pane that is gone, dead or shared, a client that is not seen in it") {
  const auto members = [](const std::vector<MemberSight>& sights) { return summary(judge_members(team(), sights)); };
  CHECK(members({{"a", "%1", PaneState::there, true}, {"b", "%2", PaneState::unknown, true}}).empty());
  CHECK(members({{"a", "%1", PaneState::gone, true}}) == "warning member.pane_gone");
  CHECK(members({{"a", "%1", PaneState::dead, true}}) == "warning member.process_gone");
  CHECK(members({{"a", "%1", PaneState::there, false}}) == "note member.process_unseen");
  CHECK(members({{"a", "%1", PaneState::there, true}, {"b", "%1", PaneState::there, true}}) ==
        "warning member.same_pane");
  CHECK(members({{"a", "", PaneState::none, true}, {"b", "", PaneState::none, true}}).empty());
  CHECK_THAT(judge_members(team(), {{"a", "%1", PaneState::gone, true}})[0].mend,
             Contains("inbox-poller shutdown a --team demo"));
}

TEST_CASE("a leader beside a lead that lives is told that it stops; one that is gone wants no other role beside it") {
  using State = handlers::LeadProcessState;
  TeamPlace place = team();
  CHECK(summary(judge_lead_process(place, {42, "", 0}, State::lives)) == "warning lead.alive");
  for (const char* word : {"resume", "role = \"observer\"", "where the workers' answers count"})
    CHECK_THAT(judge_lead_process(place, {42, "", 0}, State::lives)[0].mend, Contains(word));
  CHECK(summary(judge_lead_process(place, {42, "", 0}, State::elsewhere)) == "warning lead.elsewhere");
  CHECK(judge_lead_process(place, {42, "", 0}, State::gone).empty());
  place.config.team.role = config::Role::interceptor;
  CHECK(judge_lead_process(place, {42, "", 0}, State::lives).empty());
  CHECK(judge_lead_process(place, {42, "", 0}, State::elsewhere).empty());
  CHECK(summary(judge_lead_process(place, {42, "", 0}, State::gone)) == "warning lead.gone");
}

TEST_CASE("a leader beside a lead whose session's file shows that it made the team is told that it stops") {
  TeamPlace place = team();
  CHECK(summary(judge_lead_session(place, "process 42", true)) == "warning lead.alive");
  CHECK_THAT(judge_lead_session(place, "process 42 (client 2.1.220)", true)[0].what, Contains("process 42 (client 2.1.220)"));
  CHECK(summary(judge_lead_session(place, "process 42", false)) == "ok lead.session");
  place.config.team.role = config::Role::observer;
  CHECK(summary(judge_lead_session(place, "process 42", true)) == "ok lead.session");
}

TEST_CASE("a lead that is not woken is warned of where no other way has its mail") {
  const auto status = [](const std::string& why, bool tmux) {
    return said(boost::json::parse(R"({"teams":[{"team":"demo","lead":{"not_woken":")" + why +
                                   R"("},"delivery":{"methods":[{"method":"hook","available":true},{"method":"tmux","available":)" +
                                   (tmux ? "true" : "false") + "}]}}]}")
                    .as_object());
  };
  CHECK(summary(judge_wake(team(), status("client 2.1.50 waits", false))) == "warning lead.not_woken");
  CHECK(judge_wake(team(), status("client 2.1.50 waits", true)).empty());
  CHECK(judge_wake(team(), status("", false)).empty());
}

TEST_CASE("that messages wait for an idle lead and nothing can bring them is warned of") {
  const auto status = [](std::string_view state, int queued, std::string_view available,
                         std::string_view not_woken = "") {
    return said(boost::json::parse(
                    R"({"teams":[{"team":"demo","lead":{"state":")" + std::string(state) + R"(","not_woken":")" +
                    std::string(not_woken) + R"("},"chat":{"queued":)" + std::to_string(queued) +
                    R"(},"delivery":{"methods":[{"method":"exec","available":)" + std::string(available) + "}]}}]}")
                    .as_object());
  };
  const Findings found = judge_wake(team(), status("idle", 2, "false"));
  CHECK(summary(found) == "warning delivery.none");
  CHECK_THAT(found.front().what, Contains("2 messages wait"));
  CHECK(judge_wake(team(), status("busy", 2, "false")).empty());
  CHECK(judge_wake(team(), status("idle", 0, "false")).empty());
  CHECK(judge_wake(team(), status("idle", 2, "true")).empty());
  CHECK(summary(judge_wake(team(), status("idle", 2, "false", "an older client"))) == "warning lead.not_woken");
}

TEST_CASE("who takes no answers from here is warned of, with what to do instead, and not where we write nothing") {
  TeamPlace place = team();
  const std::vector<WorkerAnswers> workers{{"ada", handlers::authority_of(handlers::WorkerProcess::with_key, true)},
                                           {"bob", handlers::authority_of(handlers::WorkerProcess::without_key, true)},
                                           {"eve", handlers::authority_of(handlers::WorkerProcess::unseen, true)}};
  const Findings found = judge_answers(place, workers);
  REQUIRE(found.size() == 3);
  CHECK(summary({found[0]}) == "warning answers.verified");
  CHECK_THAT(found[0].what, Contains("ada takes answers from its own lead only: its process carries"));
  CHECK_THAT(found[0].mend, Contains("hook install --target workers"));
  CHECK_THAT(found[1].what, Contains("eve takes answers from its own lead only: its process is not to be seen"));
  CHECK(summary({found[2]}) == "ok answers.count");
  CHECK_THAT(found[2].what, Contains("bob"));
  place.config.team.role = config::Role::observer;
  CHECK(summary({judge_answers(place, workers)[0]}) == "note answers.verified");
}

TEST_CASE("what the daemon says: not there, of another version, not serving a team, stopped") {
  const Result<operations::Status> nobody = Error{"control.no_daemon", "nobody"};
  CHECK(summary(judge_daemon(nobody, "/s", false)) == "note daemon.none");
  CHECK(summary(judge_daemon(nobody, "/s", true)) == "warning daemon.none");
  CHECK(summary(judge_daemon(Error{"control.timeout", "late"}, "/s", true)) == "error control.timeout");
  CHECK(summary(judge_daemon(said({{"version", INBOX_POLLER_VERSION}}), "/s", true)) == "ok daemon");
  CHECK(summary(judge_daemon(said({{"version", "0.0.1"}}), "/s", true)) == "warning daemon.version");

  const auto with_role = [](const std::string& role) {
    const json::object status{{"teams", {{{"team", "demo"}, {"role", role}, {"role_reason", "somebody reads"}}}}};
    return summary(judge_standing(team(), said(status), true));
  };
  CHECK(with_role("leader").empty());
  CHECK(with_role("").empty());
  CHECK(with_role("standby").empty());
  CHECK(with_role("paused") == "error daemon.paused");
  CHECK(with_role("observer") == "warning daemon.role");
  TeamPlace without_file = team();
  without_file.config.source.clear();
  const json::object observed{{"teams", {{{"team", "demo"}, {"role", "observer"}}}}};
  CHECK(summary(judge_standing(team(), said(observed), true)) == "warning daemon.role");
  CHECK(judge_standing(without_file, said(observed), true).empty());
  const json::object beside_lead{
      {"teams",
       {{{"team", "demo"}, {"role", "paused"}, {"role_reason", "process 42 says in the roster that it leads"}}}}};
  CHECK(judge_standing(team(), said(beside_lead), true)[0].mend == "end process 42, then inbox-poller resume --team demo");
  const Findings ended = judge_standing(team(), said(beside_lead), true, true);
  CHECK_THAT(ended[0].what, Contains("; it has ended since"));
  CHECK(ended[0].mend == "inbox-poller resume --team demo");
  CHECK(summary(judge_standing(team("other"), said({{"teams", json::array{}}}), true)) == "warning daemon.not_serving");
  CHECK(judge_standing(team("other"), said({{"teams", json::array{}}}), false).empty());
}

TEST_CASE("a roster or an inbox that the daemon cannot read is an error, in the daemon's words") {
  const auto judged = [](const char* roster, const char* inbox) {
    return judge_taken(team(), said({{"teams", {{{"team", "demo"},
                                                {"roster", {{"state", roster}, {"detail", "the roster's"}}},
                                                {"inbox", {{"state", inbox}, {"detail", "the inbox's"}}}}}}}));
  };
  for (const char* fine : {"ok", "missing", "not polled yet"}) CHECK(judged("ok", fine).empty());
  CHECK(judge_taken(team("other"), said({{"teams", json::array{}}})).empty());
  CHECK(summary(judged("unreadable", "fault")) == "error daemon.not_taken");
  CHECK(judged("unreadable", "fault").front().what == "the roster's");
  CHECK(judged("ok", "fault").front().what == "the inbox's");
}

TEST_CASE("a daemon that cannot commit is an error, with its reason") {
  const auto status = [](json::object more) {
    more["team"] = "demo";
    return said({{"teams", json::array{std::move(more)}}});
  };
  CHECK(judge_served(team(), status({}), true, false, now).empty());
  const Findings found = judge_served(team(), status({{"ledger_fault", "disk full"}, {"role", "paused"}, {"role_reason", "somebody reads"}}), true, false, now);
  CHECK(summary(found) == "error daemon.paused, error daemon.commit");
  CHECK_THAT(found.back().what, Contains("no request is answered: disk full"));
}

TEST_CASE("a team on several nodes") {
  const EpochMs now = 10'000'000;
  json::object nodes{{"node", "h1"}, {"redis_url", "redis://e"}, {"leader", "h1"}, {"leads", true}, {"epoch", 3}, {"trouble", ""},
                     {"trouble_since_ms", 0}, {"full", ""}, {"worries", json::array{}}, {"mail", json::array{}},
                     {"nodes", {{{"node", "h2"}, {"version", "1"}, {"heard_ms", now - 5'000}}}}};
  const auto judged = [&] {
    return judge_nodes(team(), said({{"version", "1"}, {"teams", {{{"team", "demo"}, {"cluster", nodes}}}}}), now);
  };
  CHECK(summary(judged()) == "ok cluster.leader");
  CHECK(judge_nodes(team(), said({{"teams", {{{"team", "demo"}}}}}), now).empty());
  CHECK(judge_nodes(team("other"), said({{"teams", {{{"team", "demo"}, {"cluster", nodes}}}}}), now).empty());

  nodes["leads"] = false;  // it lost touch
  CHECK(summary(judged()) == "error cluster.leader");
  nodes["leader"] = "";
  CHECK(summary(judged()) == "error cluster.leader");
  CHECK_FALSE(judged()[0].mend.empty());
  nodes["leader"] = "h2";
  nodes["trouble"] = "it refused the connection";
  nodes["trouble_since_ms"] = now - 90'000;
  CHECK(judged()[0].severity == Severity::error);
  CHECK_THAT(judged()[0].what, Contains("refused the connection, for 1m"));
  nodes["trouble"] = "";
  nodes["worries"] = json::array{"it syncs once a second"};
  CHECK(judged()[0].check == "cluster.settings");
  nodes["worries"] = json::array{};
  nodes["round_trip_us"] = 249'999;
  CHECK(judged()[0].check == "cluster.leader");
  nodes["round_trip_us"] = 312'400;
  CHECK(judged()[0].check == "cluster.slow");
  CHECK_THAT(judged()[0].what, Contains("312 ms for a round trip"));
  nodes.erase("round_trip_us");
  nodes["nodes"] = {{{"node", "h2"}, {"version", "0.9"}, {"heard_ms", now - 40'000}}};
  nodes["mail"] = {{{"direction", "out"}, {"stream", "@h2"}, {"waiting", 3}, {"put", 0}, {"there", 0}, {"oldest_ms", now - 130'000}}};
  const Findings found = judged();
  REQUIRE(found.size() == 4);
  CHECK(found[1].check == "cluster.silent");
  CHECK(found[2].check == "cluster.version");
  CHECK(found[3].check == "cluster.mail_waits");
  CHECK_THAT(found[3].what, Contains("for node h2: 3 waiting"));
}

TEST_CASE("ledger, disk, leftovers and configuration") {
  CHECK(summary(judge_ledger("/l", LedgerReport{true, 2, "ok"})) == "ok ledger");
  CHECK(summary(judge_ledger("/l", LedgerReport{})) == "note ledger.none");
  CHECK(summary(judge_ledger("/l", LedgerReport{true, 2, "page 4 is gone"})) == "error ledger.damaged");
  CHECK(summary(judge_ledger("/l", Error{"ledger.unsafe", "others may write"})) == "error ledger.unsafe");
  CHECK(summary(judge_ledger("/l", Error{"ledger.older", "has format 1"})) == "warning ledger.older");

  constexpr std::uint64_t mebibyte = 1 << 20;
  CHECK(judge_space("/d", {1024 * mebibyte, 0, 0}).empty());
  CHECK(summary(judge_space("/d", {200 * mebibyte, 10'000, 5000})) == "warning disk.space");
  CHECK(summary(judge_space("/d", {0, 10'000, 999})) == "error disk.space, warning disk.inodes");
  CHECK(summary(judge_space("/d", {1024 * mebibyte, 10'000, 0})) == "error disk.inodes");

  CHECK(judge_leftovers("/p", 0).empty());
  CHECK(summary(judge_leftovers("/p", 3)) == "note team.permission_files");

  config::Loaded loaded;
  CHECK(summary(judge_configuration(loaded, true)) == "note config.none");
  CHECK(summary(judge_configuration(loaded, false)) == "ok config");
  CHECK_THAT(judge_configuration(loaded, false)[0].what, Contains("none with a mistake"));
  config::Loaded slipped;
  slipped.teams.resize(1);
  slipped.teams[0].slips = slipped.warnings = {"a.toml:4: is not a permission rule"};
  CHECK_THAT(judge_configuration(slipped, false)[1].what, Contains("1 team file, read; 1 to change, see above"));
  loaded.warnings = {"dangerous, and acknowledged"};
  CHECK(summary(judge_configuration(loaded, false)) == "note config.warning, ok config");
  loaded.problems = {"a.toml:1:1: no", "b.toml:2:2: no"};
  CHECK(summary(judge_configuration(loaded, true)) ==
        "error config.problem, error config.problem, note config.warning");
  CHECK(judge_configuration(loaded, false, "", true)[0].mend == "edit the file, then: inbox-poller reload");
}

}  // namespace inbox_poller::doctor_judge_test

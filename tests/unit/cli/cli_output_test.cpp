// What a person reads: requests shown whole and safely, states as sentences.
#include "poller/cli/explain.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::cli_output_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
namespace json = boost::json;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string shown(const std::vector<std::string>& words, const json::object& answer) {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("status", {});  // `trace` looks there, too
  daemon.prepare(words[0], answer);
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--socket", dir / "s"});
  const Outcome outcome = run_cli(dir, all);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  return outcome.out;
}

json::object request(json::object changes) {
  json::object request{{"team", "demo"},
                       {"kind", "permission"},
                       {"request_id", "perm-1"},
                       {"member", "alice"},
                       {"subject", "Bash"},
                       {"tool", "Bash"},
                       {"file", ""},
                       {"body", R"({"command":"ls"})"},
                       {"description", ""},
                       {"suggestions", "[]"},
                       {"asked_ms", cli::now_ms() - 125'000},
                       {"deadline_ms", cli::now_ms() + 475'500},
                       {"rule", ""},
                       {"reason", "no rule covers it"}};
  for (const auto& change : changes) request[change.key()] = change.value();
  return {{"requests", json::array{request}}};
}

}  // namespace

TEST_CASE("a pending request is a card with the whole input, the claim marked as one, and the two commands") {
  const StoppedClock clock;
  const std::string card = shown(
      {"pending"},
      request({{"body", R"({"command":"rm -rf /\necho \u001b[2J done","n":1e400})"}, {"description", "List files"}}));
  CHECK(has(card, "permission perm-1  team demo\n"));
  CHECK(has(card, "alice asks to use Bash with\n"));
  CHECK(has(card, "    command:\n    | rm -rf /\n    | echo \\x1b[2J done\n"));
  CHECK(has(card, "    n:\n    | 1e400\n"));
  CHECK(has(card, "alice's description, not checked by anybody:\n    | List files\n"));
  CHECK(has(card, "why you are asked: no rule covers it\n"));
  CHECK(has(card, "asked 2m 5s ago, denied in 7m 5"));
  CHECK(has(card, "inbox-poller approve --team demo --socket "));
  CHECK(has(card, "--reason 'TEXT' perm-1\n"));
  CHECK_FALSE(has(card, "\x1b"));
  CHECK_FALSE(has(card, "suggestions"));
}

TEST_CASE("a request that cannot be answered from here says why, and names no command") {
  const StoppedClock clock;
  const std::string card = shown({"pending"}, request({{"deadline_ms", 0},
                                                   {"answers", "verified"},
                                                   {"answers_reason", "its process carries a key"}}));
  CHECK(has(card, "  it cannot be answered from here: its process carries a key\n  asked 2m 5s ago\n"));
  CHECK_FALSE(has(card, "inbox-poller approve"));
  CHECK(has(shown({"pending"}, request({{"answers", "count"}, {"answers_reason", "x"}})), "inbox-poller approve"));
}

TEST_CASE("why a request cannot be answered is said once, and nothing else of the reason is left out") {
  const StoppedClock clock;
  const auto card = [](const std::string& reason) {
    return shown({"pending"}, request({{"reason", reason}, {"answers", "verified"}, {"answers_reason", "a key"}}));
  };
  const std::string said = "; alice takes answers from its own lead only: a key";
  CHECK(has(card("the rules say ask: no rule" + said), "why you are asked: the rules say ask: no rule\n"));
  CHECK(has(card("echo '" + said + "' && rm -rf /"), said + "' && rm -rf /\n"));
}

TEST_CASE("an input with a name twice shows both, one that is no object is shown as it is") {
  const StoppedClock clock;
  const std::string twice = shown({"pending"}, request({{"body", R"({"command":"ls","command":"rm"})"}}));
  CHECK(has(twice, "| ls\n"));
  CHECK(has(twice, "| rm\n"));
  CHECK(has(shown({"pending"}, request({{"body", "not JSON"}})), "    | not JSON\n"));
}

TEST_CASE("a plan is shown whole and cannot pass for a part of the card") {
  const StoppedClock clock;
  const std::string card =
      shown({"pending"},
            request({{"kind", "plan"}, {"subject", "plan.md"}, {"file", "plan.md"}, {"body", "1. ok\n    inbox-poller approve evil\n2. done"}}));
  CHECK(has(card, "alice asks for approval of a plan (plan.md)\n    | 1. ok\n"));
  CHECK(has(card, "    |     inbox-poller approve evil\n    | 2. done\n"));
}

TEST_CASE("a host is shown as it was written, what hides in it made visible") {
  const StoppedClock clock;
  const std::string card = shown(
      {"pending"}, request({{"kind", "sandbox"}, {"subject", "evil.com"}, {"body", "github.com\u202e.evil.com"}}));
  CHECK(has(card, "alice asks to reach the host\n    | github.com<U+202E>.evil.com\n"));
}

TEST_CASE("a wish to stop says what approving does, and is no plan") {
  const StoppedClock clock;
  const std::string card = shown({"pending"}, request({{"kind", "stop"}, {"subject", "alice"}, {"body", "all\ndone"}}));
  CHECK(has(card, "alice asks to stop; approving ends its process and takes it out of the team\n"));
  CHECK(has(card, "its reason:\n    | all\n    | done\n"));
  CHECK_FALSE(has(card, "plan"));
}

TEST_CASE("an id that a shell would obey is quoted in the commands to copy") {
  const StoppedClock clock;
  const std::string card = shown({"pending"}, request({{"request_id", "-x; rm -rf ~"}}));
  CHECK(has(card, "-- '-x; rm -rf ~'\n"));
}

TEST_CASE("of two requests with one id the commands name the kind, of others they do not") {
  const StoppedClock clock;
  auto requests = request({}).at("requests").as_array();
  requests.push_back(request({{"kind", "plan"}}).at("requests").as_array().front());
  requests.push_back(request({{"kind", "sandbox"}, {"team", "other"}}).at("requests").as_array().front());
  const std::string cards = shown({"pending"}, {{"requests", requests}});
  CHECK(has(cards, " --kind permission perm-1\n"));
  CHECK(has(cards, " --kind plan --reason 'TEXT' perm-1\n"));
  CHECK_FALSE(has(cards, "--kind sandbox"));
}

TEST_CASE("no request is said, not shown as nothing") {
  CHECK(shown({"pending"}, {{"requests", json::array{}}}) == "nothing is waiting for an answer\n");
  CHECK(shown({"quarantine"}, {}) == "the quarantine is empty\n");
}

TEST_CASE("an answer that was taken is told with the rule it added") {
  const json::object taken{{"ok", true},          {"team", "demo"},   {"kind", "permission"},
                           {"request_id", "perm-1"}, {"state", "approved"}, {"member", "alice"},
                           {"subject", "Bash"},      {"rule_added", "Bash(git push:*)"}};
  CHECK(shown({"approve", "perm-1"}, {{"answers", json::array{taken}}}) ==
        "approved: permission perm-1 of alice (Bash), team demo\n"
        "from now on in this session: Bash(git push:*)\n");
}

TEST_CASE("status tells the lead, the workers and what waits - a field that is missing is no fault") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  const json::object member{{"member", "alice"},
                            {"present", true},
                            {"doing", "waiting"},
                            {"state", "idle"},
                            {"task", "3 \"Parse\""},
                            {"mode", "plan"},
                            {"detail", "done\x1b[0m"},
                            {"last_seen_ms", now - 185'000},
                            {"pending", 2},
                            {"answers", "verified"},
                            {"answers_reason", "its process carries a key"}};
  const json::object gone{{"member", "bob"}, {"present", false}, {"doing", "gone"}, {"state", "idle"}};
  const json::object team{
      {"team", "demo"},
      {"lead", {{"member", "team-lead"}, {"state", "busy"}, {"since_ms", now - 60'500}, {"until_ms", now + 600'500}}},
      {"inbox", {{"path", "/i/team-lead.json"}, {"state", "torn"}, {"detail", "not JSON"}}},
      {"members", json::array{member, gone}},
      {"requests", {{"pending", 2}, {"oldest_ms", now - 3'600'000}}},
      {"chat", {{"queued", 3}, {"offered", 1}, {"delivered", 20}, {"oldest_queued_ms", now - 30'000}}},
      {"replies_owed", 4},
      {"quarantined", 5},
      {"locks", {{"acquired", 100}, {"refused", 1}, {"stale_taken", 0}, {"median_us", 160}, {"p99_us", 700}}}};
  const std::string text = shown({"status", "--long"}, {{"version", "1.2.3"},
                                              {"pid", 42},
                                              {"started_ms", now - 7'200'000},
                                              {"ledger", "/l"},
                                              {"teams", json::array{team, json::object{}, 7}}});
  CHECK(has(text, "inbox-poller 1.2.3, process 42, running for 2h\nledger /l\n"));
  CHECK(has(text, "team-lead is busy for 1m, the report runs out in 10m\n"));
  CHECK(has(text, "torn  /i/team-lead.json  (not JSON)\n"));
  CHECK(has(text, "2 pending (the oldest 1h ago): inbox-poller pending\n"));
  CHECK(has(text, "3 queued (the oldest 30s ago), 1 handed out, 20 delivered\n"));
  CHECK(has(text, "4 still to be written\n"));
  CHECK(has(text, "5: inbox-poller quarantine\n"));
  CHECK(has(text, "held 160 us at the median, 700 us at 99 %"));
  CHECK(has(text,
            "  NAME   DOING    TASK       OPEN  ANSWERS   MODE  LAST SEEN  DETAIL\n"
            "  alice  waiting  3 \"Parse\"  2     verified  plan  3m 5s ago  done\\x1b[0m\n"));
  CHECK(has(text, "  bob    gone     -          0     -         -     never\n"));
  CHECK(has(text, "alice takes answers from its own lead only: its process carries a key\n"));
  CHECK_FALSE(has(text, "\x1b"));  // no colors where there is no terminal
}

TEST_CASE("a trace says where a message is now and then everything that happened to it") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  json::object message{
      {"message_key", "k1"},         {"team", "demo"},        {"inbox", "team-lead"},       {"sender", "alice"},
      {"type", "plain_text"},        {"disposition", "chat"}, {"delivery", "delivered"},    {"method", "recv"},
      {"delivered_ms", now - 18'000'500}, {"attempts", 2},         {"received_ms", now - 61'000}};
  const json::object event{{"at_ms", now}, {"event", "delivery.delivered"}, {"detail", "method=recv"}};
  const auto trace = [&] {
    return shown({"trace", "k1"}, {{"messages", json::array{message}}, {"history", json::array{event}}});
  };
  CHECK(has(trace(), "it was delivered through recv 5h ago (attempt 2)\n"));
  CHECK(has(trace(), "  delivery.delivered  method=recv\n"));
  message["delivery"] = "queued";
  message["attempts"] = 0;
  CHECK(has(trace(), "it waits for the lead: it is delivered when the lead is idle"));
  message["delivery"] = "offered";
  message["offered_ms"] = now - 18'000'500;
  CHECK(has(
      trace(),
      "it was handed out through recv 5h ago and is not acknowledged yet; it comes again if that does not happen\n"));
  message["disposition"] = "rejected";
  message["code"] = "sender.stranger";
  message["reason"] = "mallory is no member";
  CHECK(has(trace(), "it was not obeyed: mallory is no member (sender.stranger); only members of the team are obeyed"));
  message["disposition"] = "malformed";
  message["code"] = "entry.field";
  message["reason"] = "from: expected a string";
  CHECK(has(trace(), "it could not be read: from: expected a string (entry.field); the entry stays in the file"));
  message["reason"] = "";
  message["disposition"] = "control";
  message["request_id"] = "perm-1";
  CHECK(has(trace(), "it is a control message of request perm-1\n"));
  message["disposition"] = "duplicate";
  CHECK(has(trace(), "it repeats one that is known already; the first one counts\n"));
  message["disposition"] = "status";
  message["delivery"] = "none";
  CHECK(has(trace(), "it changed the worker's state\n"));
  message["code"] = "role.left";
  CHECK(has(trace(), "it was left alone; it is the business of the lead that consumes this inbox\n"));
}

TEST_CASE("a trace of a delivery tells whether somebody said that it arrived") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  json::object message{{"message_key", "k1"},   {"disposition", "chat"},       {"delivery", "delivered"},
                       {"method", "tmux"},        {"delivered_ms", now - 18'000'500}, {"attempts", 1},
                       {"confirmed", "assumed"}};
  const auto trace = [&] { return shown({"trace", "k1"}, {{"messages", json::array{message}}}); };
  CHECK(has(trace(), "it was delivered through tmux 5h ago, assumed: nothing comes back from there that tells\n"));
  message["confirmed"] = "acknowledged";
  CHECK(has(trace(), "it was delivered through tmux 5h ago, acknowledged\n"));
  message["delivery"] = "expired";
  CHECK(has(trace(),
            "it was given up 5h ago: it waited for longer than delivery.expire_after, or was pointless by then"));
}

TEST_CASE("a trace of a message that waits says for what, and since when") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  json::object message{{"message_key", "k1"},  {"team", "demo"}, {"disposition", "chat"},
                       {"delivery", "queued"}, {"attempts", 0},  {"priority", 1}};
  json::object team{{"team", "demo"},
                    {"lead",
                     {{"member", "team-lead"},
                      {"state", "busy"},
                      {"by", "prompt_submitted"},
                      {"since_ms", now - 60'500},
                      {"until_ms", now + 600'500}}},
                    {"delivery",
                     {{"methods", json::array{json::object{{"method", "stdin"}, {"reason", "no lead was started"}},
                                          json::object{{"method", "socket"}, {"reason", "nobody follows"}}}}}}};
  const auto trace = [&] {
    const TempDir dir;
    FakeDaemon daemon(dir / "s");
    daemon.prepare("trace", {{"messages", json::array{message}}});
    daemon.prepare("status", {{"teams", json::array{json::object{{"team", "other"}}, team}}});
    return run_cli(dir, {"trace", "k1", "--socket", dir / "s"}).out;
  };
  CHECK(has(trace(),
            "it waits for the lead: team-lead is busy for 1m (a prompt was submitted), the report runs out in 10m\n"));
  team["lead"].as_object()["state"] = "idle";
  CHECK(has(trace(),
            "it waits for the lead, which is idle; the way to it: nothing is available (stdin: no lead was "
            "started; socket: nobody follows)\n"));
  message["attempts"] = 1;
  message["method"] = "socket";
  team["delivery"].as_object()["methods"].as_array()[1].as_object() = {{"method", "socket"}, {"chosen", true}};
  CHECK(has(trace(),
            "the way to it: socket (stdin: no lead was started); it was handed out before, through socket, and "
            "not acknowledged\n"));
  message["priority"] = 0;
  CHECK(has(trace(), "it waits to be summed up with others"));
}

TEST_CASE("a trace of a request tells who decided it and whether the worker has its answer") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  const json::object effect{{"inbox", "alice"},
                            {"state", "pending"},
                            {"attempts", 3},
                            {"last_problem", "the lock is held"},
                            {"next_ms", now + 4'500}};
  json::object request{{"team", "demo"},
                       {"kind", "permission"},
                       {"request_id", "perm-1"},
                       {"member", "alice"},
                       {"subject", "Bash"},
                       {"state", "approved"},
                       {"decided_by", "rule"},
                       {"rule", "Bash(git status)"},
                       {"decided_ms", now - 90'500},
                       {"reason", ""},
                       {"effects", json::array{effect}}};
  const std::string decided = shown({"trace", "perm-1"}, {{"requests", json::array{request}}});
  CHECK(has(
      decided,
      "permission perm-1\n  alice, team demo, about Bash\n  it is approved by rule (Bash(git status)) 1m 30s ago\n"));
  CHECK(
      has(decided, "the message to alice is pending, attempt 3, last problem: the lock is held; tried again in 4s\n"));
  request["state"] = "pending";
  request["deadline_ms"] = now + 60'500;
  CHECK(has(shown({"trace", "perm-1"}, {{"requests", json::array{request}}}),
            "it is pending: waits for a person, denied in 1m (inbox-poller approve or deny alice/perm-1)\n"));
  request["deadline_ms"] = 0;
  CHECK(has(shown({"trace", "perm-1"}, {{"requests", json::array{request}}}),
            "waits for the lead that consumes this inbox"));
  request["state"] = "expired";
  request["reason"] = "Denied because no answer came within 10 minutes.";
  const json::object event{{"at_ms", now}, {"event", "request.received"}, {"detail", "deadline_ms=1795815308476 took_ms=12"}};
  const std::string expired = shown({"trace", "perm-1"}, {{"requests", json::array{request}}, {"history", json::array{event}}});
  CHECK(has(expired, ": Denied because no answer came within 10 minutes; the worker may ask again\n"));
  CHECK(has(expired, "deadline=" + cli::time_text(1'795'815'308'476) + " took_ms=12"));
}

TEST_CASE("the quarantine names the reason and where the bytes are") {
  const StoppedClock clock;
  const json::object entry{{"team", "demo"},
                           {"inbox", "team-lead"},
                           {"sender", "mallory"},
                           {"type", "mode_set_request"},
                           {"message_key", "k9"},
                           {"code", "direction.refused"},
                           {"reason", "only the lead may"},
                           {"received_ms", cli::now_ms() - 10'500}};
  const json::object file{{"path", "/state/quarantine/x.json"}, {"size", 123}, {"modified_ms", cli::now_ms()}};
  const std::string text = shown({"quarantine"}, {{"entries", json::array{entry}}, {"files", json::array{file}}});
  CHECK(has(text, "10s ago  demo  team-lead  mallory  mode_set_request  k9   only the lead may (direction.refused)\n"));
  CHECK(has(text, "--json shows them as \"entry\""));
  CHECK(has(text, "123    /state/quarantine/x.json\n"));
}

TEST_CASE("status tells on which way messages go to the lead, why not on a better one, and what became of them") {
  const StoppedClock clock;
  const json::object exec{{"method", "exec"}, {"available", true}, {"chosen", true}, {"reason", ""}};
  const json::object hook{
      {"method", "hook"}, {"available", false}, {"chosen", false}, {"reason", "no hook\x1b was heard"}};
  json::object team{
      {"team", "demo"},
      {"lead", {{"member", "team-lead"}, {"state", "idle"}, {"by", "turn_stops"}, {"since_ms", cli::now_ms() - 5'500}}},
      {"chat", {{"queued", 1}, {"delivered", 9}, {"assumed", 2}, {"expired", 3}, {"digest", 4}}},
      {"delivery", {{"methods", json::array{hook, exec}}, {"last_method", "hook"}}}};
  const auto status = [&] { return shown({"status"}, {{"teams", json::array{team}}}); };
  CHECK(has(status(), "lead      team-lead is idle for 5s (its turn ended)\n"));
  CHECK(has(status(), "delivery  exec, as no receiver is at hook (--long says more); the last messages went through hook\n"));
  CHECK_FALSE(has(status(), "was heard"));
  CHECK(has(shown({"status", "--long"}, {{"teams", json::array{team}}}),
            "delivery  exec; the last messages went through hook\n            not hook: no hook\\x1b was heard\n"));
  CHECK(has(status(),
            "1 queued, 9 delivered, 2 of them without an acknowledgment, 3 given up, 4 to be "
            "summed up\n"));
  team["delivery"] = json::object{{"methods", json::array{hook}}, {"last_method", ""}};
  CHECK(has(status(), "delivery  nothing is available (--long says why)\n  inbox"));
  CHECK(has(shown({"status", "--long"}, {{"teams", json::array{team}}}),
            "delivery  nothing is available\n            not hook: no hook\\x1b was heard\n"));
  team["role"] = "observer";
  CHECK_FALSE(has(status(), "delivery"));
  const std::string lead = shown({"lead"}, {{"team", "demo"},
                                            {"member", "team-lead"},
                                            {"state", "offline"},
                                            {"since_ms", cli::now_ms() - 5'500},
                                            {"by", "of_tomorrow"}});
  CHECK(lead == "team demo: team-lead is offline for 5s (of_tomorrow)\n");
}

TEST_CASE("status names the role and everything that is not as usual") {
  const StoppedClock clock;
  const long long now = cli::now_ms();
  const json::object shutdown{{"member", "ann"},
                              {"state", "requested"},
                              {"open", true},
                              {"detail", "waits for the worker's answer"},
                              {"reminded_ms", now - 5'500}};
  const json::object team{
      {"team", "demo"},
      {"role", "paused"},
      {"role_reason", "somebody else consumes it"},
      {"ledger_fault", "no room to write"},
      {"shutdowns", json::array{shutdown}},
      {"not_applied", json::array{json::object{{"member", "bob"}, {"mode", "plan"}, {"sent_ms", now - 90'500}}}},
      {"orphaned_inboxes", json::array{json::object{{"inbox", "team_lead"}, {"entries", 3}, {"unread", 2}}}},
      {"seen", {{"consumed", 7}, {"waiting", 1}, {"oldest_waiting_ms", now - 3'500}, {"longest_ms", 61'000}}}};
  const std::string text = shown({"status"}, {{"teams", json::array{team}}});
  CHECK(has(text, "role      paused: somebody else consumes it\n"));
  CHECK(has(text, "ledger    its last commit failed, nothing is accepted until one works: no room to write\n"));
  CHECK(has(text, "shutdown  ann is requested: waits for the worker's answer; reminded 5s ago\n"));
  CHECK(has(text, "bob has not applied plan, sent 1m 30s ago; newest clients ignore it"));
  CHECK(has(text, "team_lead is an orphaned inbox with 3 entries, 2 unread; if it means the lead"));
  CHECK(has(text, "7 taken by the lead (the slowest after 1m 1s), 1 waiting (the oldest for 3s)\n"));
}

TEST_CASE("what a trace says of our own writing tells whether it waits, was taken, given up or superseded") {
  json::object effect{{"team", "demo"}, {"inbox", "ann"}, {"message_key", "k1"}, {"state", "pending"}};
  const auto trace = [&] { return shown({"trace", "k1"}, {{"effects", json::array{effect}}}); };
  CHECK(has(trace(), "message of ours k1\n  for ann, team demo"));
  CHECK(has(trace(), "it is pending: will be written at the next poll\n"));
  effect["state"] = "written";
  CHECK(has(trace(), "it is written, and ann has not taken it yet\n"));
  effect["state"] = "done";
  CHECK(has(trace(), "it is done: ann has taken it, or will not any more\n"));
  effect["state"] = "dead";
  effect["attempts"] = 9;
  effect["last_problem"] = "the inbox is not a file we may write";
  CHECK(has(trace(),
            "given up after 9 attempts, last problem: the inbox is not a file we may write; `inbox-poller doctor`"));
  effect["state"] = "done";
  effect["order"] = json::object{{"kind", "mode"}, {"subject", "plan"}, {"state", "superseded"}};
  CHECK(has(trace(), "; mode plan was superseded by a newer order for the same worker\n"));
  effect["order"] = json::object{{"kind", "mode"}, {"subject", "plan"}, {"state", "not_applied"}};
  CHECK(has(trace(), "; mode plan was not applied: the roster does not show it"));
  effect["order"] = json::object{{"kind", "rule"}, {"subject", "Bash(make)"}, {"state", "sent"}};
  CHECK(has(trace(), "; rule Bash(make) was sent\n"));
}

TEST_CASE("a shutdown in its end is told with what was done, or with what to do next") {
  json::object shutdown{{"member", "ann"},        {"request_id", "shutdown-1@ann"},
                        {"by", "mona"},           {"state", "cleaned"},
                        {"tasks", "1 \"Parse\""}, {"left_alone", "the roster names no pane"}};
  const auto trace = [&] { return shown({"trace", "shutdown-1@ann"}, {{"shutdowns", json::array{shutdown}}}); };
  CHECK(has(trace(), "shutdown shutdown-1@ann\n  ann, team "));
  CHECK(
      has(trace(),
          "it is done: ann has ended; tasks given back: 1 \"Parse\"; no pane was closed: the roster names no pane\n"));
  shutdown["state"] = "rejected";
  shutdown["answer"] = "not before the tests are green";
  CHECK(has(trace(),
            "it was rejected by ann: not before the tests are green; it goes on working, and may be asked again: "
            "inbox-poller shutdown ann\n"));
  shutdown["state"] = "timed_out";
  shutdown["detail"] = "the worker did not answer";
  CHECK(has(trace(),
            "it is timed out: the worker did not answer; a late approval still counts, otherwise: "
            "inbox-poller shutdown ann --force-after 1s\n"));
}

TEST_CASE("a shutdown under way is told with the pane that it will close, or with why it closes none") {
  json::object shutdown{{"member", "ann"}, {"request_id", "shutdown-1@ann"}, {"state", "approved"}, {"open", true},
                        {"pane_id", "%7"}, {"detail", "the worker agreed"}};
  const auto trace = [&] { return shown({"trace", "shutdown-1@ann"}, {{"shutdowns", json::array{shutdown}}}); };
  CHECK(has(trace(), "it is approved: the worker agreed; closes the pane %7\n"));
  shutdown["pane_id"] = "";
  shutdown["left_alone"] = "tmux does not know pane %7";
  CHECK(has(trace(), "it is approved: the worker agreed; will close no pane: tmux does not know pane %7\n"));
}

TEST_CASE("every code of a refusal comes with what to do about it") {
  for (const char* code :
       {"sender.stranger", "sender.own_name", "sender.disagrees", "direction.mode_set_request", "payload.malformed",
        "payload.unknown", "request.id_reused", "shutdown.never_requested", "shutdown.other_worker",
        "shutdown.already_answered", "entry.syntax", "entry.not_object", "entry.field", "role.left"}) {
    INFO(code);
    CHECK_FALSE(cli::advice_for(code).empty());
  }
  CHECK(cli::advice_for("of.tomorrow").empty());
}

TEST_CASE("a rule that allows more than it seems to is warned of, as in a configuration") {
  const auto warned = [](std::vector<std::string> words) {
    const TempDir dir;
    FakeDaemon daemon(dir / "s");
    daemon.prepare("allow", {{"rule", words[1]}, {"is_new", true}});
    words.insert(words.end(), {"--socket", dir / "s"});
    return run_cli(dir, words).err;
  };
  CHECK(has(warned({"allow", "Bash", "--yes"}), "WARNING: Bash: every command"));
  CHECK(has(warned({"allow", "Edti", "--yes"}), "did you mean \"Edit\"?"));
  CHECK(has(warned({"allow", "ls"}), "for the command write 'Bash(ls *)'\n"));
  CHECK(warned({"allow", "Bash(ls)", "--yes"}).empty());
  CHECK(warned({"allow", "Edit", "--directory", "/repo", "--yes"}).empty());
}

TEST_CASE("a rule that answers open requests is asked about, and refused where nobody can be asked") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("allow", {{"rule", "Bash(ls *)"}, {"is_new", true}});
  json::array open;
  for (int i = 0; i < 25; ++i)
    open.push_back(json::object{{"kind", "permission"}, {"request_id", "p" + std::to_string(i)}, {"member", "ann"},
                                {"tool", "Bash"}, {"subject", "Bash: ls"}, {"body", R"({"command": "ls"})"}, {"folder", "/w"}});
  open.push_back(json::object{{"kind", "permission"}, {"request_id", "other"}, {"tool", "Bash"}, {"body", R"({"command": "dd"})"}});
  daemon.prepare("pending", {{"requests", open}});
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--socket", dir / "s"});
    return run_cli(dir, words);
  };
  const auto asked = [&](std::string_view verb) {
    std::size_t count = 0;
    for (const auto& one : daemon.requests()) count += one.at("verb").as_string() == verb ? 1 : 0;
    return count;
  };
  const Outcome refused = run({"allow", "Bash(ls *)"});
  CHECK(refused.code == 2);
  CHECK(asked("allow") == 0);
  CHECK(has(refused.err, "Bash(ls *) covers 25 open requests:\n  permission p0 of ann (Bash: ls)\n"));
  CHECK(has(refused.err, "and 5 more"));
  CHECK(has(refused.err, "--yes"));
  CHECK_FALSE(has(refused.err, "other"));
  CHECK(run({"allow", "Bash(ls *)", "--yes"}).code == 0);
  CHECK(run({"allow", "Bash(make)"}).code == 0);  // covers none
  CHECK(asked("allow") == 2);
  CHECK(run({"allow", "ls", "--yes"}).code == 2);
  CHECK(asked("allow") == 2);
}

TEST_CASE("a long list of answered requests is cut for people") {
  json::array answered;
  for (int i = 0; i < 23; ++i)
    answered.push_back(json::object{{"kind", "permission"}, {"request_id", "p" + std::to_string(i)}, {"state", "approved"}});
  const std::string text = shown({"reload"}, {{"answered", answered}});
  CHECK(has(text, "23 open requests are answered"));
  CHECK(has(text, "  and 3 more: inbox-poller decisions\n"));
}

TEST_CASE("short answers say what they mean") {
  CHECK(shown({"ack", "k1"}, {{"acknowledged", 1}}) == "1 of 1 acknowledged\n");
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--socket", dir / "s"});
    return run_cli(dir, words);
  };
  daemon.prepare("pending", {{"requests", json::array{json::object{{"member", "builder"}, {"kind", "permission"}}}}});
  CHECK(run({"pending", "--member", "bulder"}).out == "no open request fits; did you mean \"builder\"?; without conditions 1 does\n");
  daemon.prepare("status", {{"teams", json::array{json::object{{"team", "demo"}, {"role", "leader"}}}}});
  daemon.prepare("resume", {{"team", "demo"}, {"role", "leader"}});
  CHECK(run({"resume"}).out == "team demo was not paused; its role is leader\n");
  daemon.prepare("status", {{"teams", json::array{json::object{{"team", "demo"}, {"role", "paused"}}}}});
  CHECK(run({"resume"}).out == "team demo: leader\n");
  daemon.prepare("ack", {{"acknowledged", 0}});
  CHECK(has(run({"ack", "k1"}).out, "0 of 1 acknowledged; the others are not held here"));
  daemon.prepare("recv", {{"messages", json::array{}}, {"lead_state", "idle"}});
  const Outcome nothing = run({"recv", "--json"});
  CHECK(nothing.code == 4);
  CHECK(json::parse(nothing.out).at("ok") == false);
  CHECK(has(run({"pending", "--list"}).out, "KEY  "));
}

TEST_CASE("modes and rules are told with who was told, and what cannot be taken back") {
  const StoppedClock clock;
  CHECK(shown({"mode", "ann", "plan"}, {{"sent", json::array{json::object{{"member", "ann"}, {"mode", "plan"}}}}}) ==
        "ann is told to work in mode plan\n`inbox-poller status` shows later who has not taken it over\n");
  CHECK(shown({"allow", "Bash(ls)", "--yes"}, {{"rule", "Bash"}, {"is_new", true}, {"told", json::array{"ann", "bob"}}}) ==
        "from now on in this session: Bash\ntold: ann, bob; who joins is told too\n");
  CHECK(has(
      shown({"allow", "Bash(ls)", "--yes"}, {{"rule", "Bash"}, {"is_new", true}, {"told", json::array{}}, {"role", "interceptor"}}),
      "they are not told of it"));
  CHECK(shown({"allow", "Bash(ls)", "--yes"}, {{"rule", "Bash"}, {"is_new", false}}) ==
        "the session has this rule already: Bash\n");
  CHECK(has(shown({"revoke", "Bash"}, {{"rule", "Bash"}, {"keepers", json::array{"ann"}}}),
            "may keep it until their sessions end: ann"));
  const json::object session{{"kind", "team"},
                             {"action", "allow"},
                             {"rule", "Bash(make)"},
                             {"by", "mona"},
                             {"at_ms", cli::now_ms() - 5'500},
                             {"told", json::array{"ann", "bob"}}};
  const json::object configured{{"kind", "host"}, {"action", "deny"}, {"rule", "*.evil.test"}};
  const std::string rules =
      shown({"rules"},
            {{"session", json::array{session}}, {"configured", json::array{configured}}, {"source", "/etc/t.toml"}});
  CHECK(has(rules, "allow   team  Bash(make)   mona 5s ago  ann, bob\n"));
  CHECK(has(rules, "deny    host  *.evil.test  /etc/t.toml\n"));
}

TEST_CASE("decisions are a line each with who, when, by which rule and how long it took, the newest last") {
  const StoppedClock clock;
  const long long at = cli::now_ms();
  const auto decision = [&](const std::string& id, long long decided, const std::string& by, const std::string& rule) {
    return json::object{{"team", "demo"},
                        {"kind", "permission"},
                        {"request_id", id},
                        {"member", "alice"},
                        {"subject", "Bash\x1b[2J"},
                        {"state", "approved"},
                        {"decided_by", by},
                        {"rule", rule},
                        {"asked_ms", decided - 65'000},
                        {"decided_ms", decided}};
  };
  const std::string text =
      shown({"decisions"},
            {{"decisions", json::array{decision("p2", at, "bob", ""), decision("p1", at - 1, "rule", "Bash(ls)")}}});
  CHECK(text.starts_with("WHEN"));
  CHECK(has(text, "  TEAM  KIND        ID  MEMBER  SUBJECT      STATE     BY    RULE      TOOK\n"));
  CHECK(
      has(text, cli::brief_time_text(at, at) + "  demo  permission  p2  alice   Bash\\x1b[2J  approved  bob   -         1m 5s\n"));
  CHECK(text.find("p1  alice") < text.find("p2  alice"));
  CHECK(has(text, "rule  Bash(ls)  1m 5s\n"));
}

TEST_CASE(
    "history is a line for each message, and a block for one that is named, with nothing that steers a terminal") {
  const StoppedClock clock;
  const json::object message{{"team", "demo"},
                             {"inbox", "team-lead"},
                             {"sender", "ali\x1b[2Jce"},
                             {"type", "text"},
                             {"disposition", "chat"},
                             {"delivery", "delivered"},
                             {"method", "recv"},
                             {"confirmed", "acknowledged"},
                             {"message_key", "0123456789abcdef0123456789abcdef"},
                             {"received_ms", 1'770'477'646'348},
                             {"delivered_ms", cli::now_ms()},
                             {"text", "hello\x1b[2J\nsecond line \u202e"}};
  const std::string lines = shown({"history"}, {{"messages", json::array{message}}});
  CHECK(lines.starts_with("WHEN"));
  CHECK(has(lines, "  TEAM  FROM          TYPE  STATE      KEY           TEXT\n"));
  CHECK(has(lines, "  demo  ali\\x1b[2Jce  text  delivered  0123456789ab  hello\\x1b[2J…\n"));
  const std::string block = shown({"history", "0123"}, {{"messages", json::array{message}}});
  CHECK(has(block,
            "message 0123456789abcdef0123456789abcdef\n  text from ali\\x1b[2Jce to team-lead, team demo, found "));
  CHECK(has(block, "it was delivered through recv"));
  CHECK(has(block, "  | hello\\x1b[2J\n  | second line <U+202E>\n"));
}

TEST_CASE("no message that fits is said, and ends with 4, and the request says what is wanted") {
  const StoppedClock clock;
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("history", {{"messages", json::array{}}});
  const Outcome outcome =
      run_cli(dir, {"history", "--since", "1h", "--from", "bob", "--type", "text", "--full", "--socket", dir / "s"});
  CHECK(outcome.code == 4);
  CHECK(outcome.err == "inbox-poller: no message is in the ledger that fits\n");
  const auto request = daemon.requests()[0];
  CHECK(request.at("sender") == "bob");
  CHECK(request.at("type") == "text");
  CHECK(request.at("full").as_bool());
  CHECK(std::abs(request.at("since_ms").as_int64() - (cli::now_ms() - 3'600'000)) < 60'000);
}

TEST_CASE("no decision that fits is said, and ends with 4") {
  const StoppedClock clock;
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("decisions", {{"decisions", json::array{}}});
  const Outcome outcome = run_cli(dir, {"decisions", "--since", "1h", "--socket", dir / "s"});
  CHECK(outcome.code == 4);
  CHECK(outcome.err == "inbox-poller: no decision is in the ledger that fits\n");
  CHECK(std::abs(daemon.requests()[0].at("since_ms").as_int64() - (cli::now_ms() - 3'600'000)) < 60'000);
  CHECK(run_cli(dir, {"decisions", "--json", "--socket", dir / "s"}).code == 4);
}

TEST_CASE("a reload is told by what it changed, and what it could not") {
  CHECK(shown({"reload"}, {{"added", json::array{}}, {"removed", json::array{}}}) == "no team has changed\n");
  CHECK(shown({"reload"}, {{"added", json::array{"a"}},
                           {"removed", json::array{"b"}},
                           {"changed", json::array{"c", "d"}},
                           {"restart", json::array{"daemon.socket"}}}) ==
        "now served: a\nno longer served: b\nwith new settings: c, d\nonly after a restart: daemon.socket\n");
}

}  // namespace inbox_poller::cli_output_test

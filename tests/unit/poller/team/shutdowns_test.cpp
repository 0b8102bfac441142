// Shutdowns from the request to the last trace: real files, a ledger in memory, and a machine whose processes and panes
// behave as each story says. Every story also runs with a restart after every tick.
#include "poller/team/shutdowns.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <set>

#include "poller/effects/outbox.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::shutdowns_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using handlers::Shutdown;
using handlers::ShutdownEvent;
using handlers::ShutdownState;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

enum class Dies { hangup, term, kill, never };  // which signal is the weakest that ends it

struct Machine final : Processes, Panes {
  struct One {
    ProcessRef process;
    long long parent = 0;
    std::vector<std::string> arguments;
    long long started_ms = 0;
    Dies dies = Dies::hangup;
  };
  std::map<long long, One> all;
  std::vector<Pane> panes;
  std::set<std::string> signals;  // "201 TERM"
  std::set<long long> strangers;  // processes of other users
  std::vector<std::string> closed;
  std::optional<Error> tmux_problem;
  std::function<void()> while_looking;  // runs in the middle of each look at the panes

  void start(long long pid, long long parent, long long at_ms, std::vector<std::string> arguments = {}) {
    all[pid] = {{pid, "s" + std::to_string(pid)}, parent, std::move(arguments), at_ms};
  }
  void end(long long pid) {
    all.erase(pid);
    for (auto& [child, one] : all)
      if (one.parent == pid) one.parent = 1;  // as an orphan
  }
  void send(long long pid, Dies what) {
    if (const auto found = all.find(pid); found != all.end() && found->second.dies <= what) end(pid);
  }

  Result<ProcessRef> identify(long long pid) override {
    if (const auto found = all.find(pid); found != all.end()) return found->second.process;
    return Error{"process.gone", "gone"};
  }
  bool is_alive(const ProcessRef& process) override {
    const auto now = identify(process.pid);
    return now.ok() && *now == process;
  }
  std::vector<ProcessRef> family(const ProcessRef& first) override { return families({first}); }
  std::vector<ProcessRef> families(const std::vector<ProcessRef>& firsts) override {
    std::vector<ProcessRef> out;
    const auto add = [&out](const ProcessRef& one) {
      if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
    };
    for (const auto& first : firsts)
      if (is_alive(first)) add(first);
    for (std::size_t i = 0; i < out.size(); ++i)
      for (const auto& [pid, one] : all)
        if (one.parent == out[i].pid) add(one.process);
    return out;
  }
  std::optional<ProcessRef> in_front_of(const ProcessRef& shell) override {
    std::vector<ProcessRef> children;
    for (const auto& [pid, one] : all)
      if (one.parent == shell.pid) children.push_back(one.process);
    return children.size() == 1 ? std::optional(children[0]) : std::nullopt;
  }
  bool may_signal(const ProcessRef& process) override {
    return process.pid != ::getpid() && !strangers.contains(process.pid);
  }
  std::vector<std::string> arguments(const ProcessRef& process) override {
    return is_alive(process) ? all.at(process.pid).arguments : std::vector<std::string>{};
  }
  std::vector<ProcessRef> with_word(std::string_view word) override {
    std::vector<ProcessRef> found;
    for (const auto& [pid, one] : all)
      if (std::find(one.arguments.begin(), one.arguments.end(), word) != one.arguments.end())
        found.push_back(one.process);
    return found;
  }
  long long started_ms(const ProcessRef& process) override { return all.at(process.pid).started_ms; }
  boost::asio::awaitable<Result<std::optional<Front>>> front(std::string) override { co_return std::nullopt; }
  boost::asio::awaitable<Typed> paste(Front, std::string, std::string) override {
    co_return Typed{Typed::How::unknown, "none"};
  }
  boost::asio::awaitable<Typed> press(Front, Key) override { co_return Typed{Typed::How::unknown, "none"}; }
  Status signal(const ProcessRef& process, int number) override {
    signals.insert(std::to_string(process.pid) + (number == SIGKILL ? " KILL" : " TERM"));
    send(process.pid, number == SIGKILL ? Dies::kill : Dies::term);
    return Done{};
  }
  boost::asio::awaitable<Result<std::vector<Pane>>> list() override {
    if (while_looking) while_looking();
    if (tmux_problem) co_return *tmux_problem;
    for (auto& pane : panes) pane.dead = !is_alive(pane.first);
    co_return panes;
  }
  boost::asio::awaitable<Result<std::optional<Pane>>> find(std::string id) override {
    auto now = co_await list();
    if (!now) co_return now.error();
    for (const auto& pane : *now)
      if (pane.id == id) co_return std::optional<Pane>(pane);
    co_return std::optional<Pane>();
  }
  boost::asio::awaitable<Status> close(Pane pane) override {
    if (tmux_problem) co_return *tmux_problem;
    const auto found = std::find_if(panes.begin(), panes.end(), [&](const Pane& one) { return is_same(one, pane); });
    if (found == panes.end()) co_return Done{};
    for (const auto& process : family(found->first)) send(process.pid, Dies::hangup);
    closed.push_back(found->id);
    panes.erase(found);
    co_return Done{};
  }
};

constexpr EpochMs joined = 1'000'000'000'000;

std::string roster_with(const std::string& worker_fields, const std::string& more = {}) {
  return R"({"name": "team", "leadAgentId": "team-lead@team", "leadSessionId": "s", "members": [
    {"agentId": "team-lead@team", "name": "team-lead", "tmuxPaneId": "%1"},
    {"agentId": "w1@team", "name": "w1", "joinedAt": 1000000000000, )" +
         worker_fields + "}" + more + "]}";
}
const std::string own_pane = R"("tmuxPaneId": "%7", "backendType": "tmux")";
const std::string no_pane = R"("tmuxPaneId": "in-process", "backendType": "in-process")";

/// One team: the lead in the pane %1, the worker w1 (process 201, below the shell 200) in %7, a person's shell in %9.
struct Story : MailboxSetting {
  config::TeamConfig config;
  Machine machine;
  std::unique_ptr<Ledger> ledger = std::move(*Ledger::open(":memory:"));
  std::unique_ptr<Telemetry> telemetry;
  std::unique_ptr<TeamState> context;
  std::unique_ptr<Shutdowns> shutdowns;
  GroupCommit commits{*ledger};
  std::unique_ptr<Outbox> outbox;
  bool restarts = false;
  bool can_write = true;  // the worker's inbox is not locked
  std::string id;

  explicit Story(const std::string& worker_fields = own_pane, const std::string& more = {}) {
    machine.start(100, 1, joined - 3'600'000);
    machine.start(150, 100, joined - 3'600'000, {"lead"});
    machine.start(200, 100, joined + 500, {"sh"});
    machine.start(201, 200, joined + 900, {"client", "--agent-id", "w1@team", "--agent-name", "w1"});
    machine.start(300, 100, joined - 1'800'000, {"sh"});
    for (const auto& [pane, pid] : {std::pair("%1", 150), std::pair("%7", 200), std::pair("%9", 300)})
      machine.panes.push_back({pane, *machine.identify(100), *machine.identify(pid), false});
    spill(team() / "config.json", roster_with(worker_fields, more));
    fs::create_directories(tasks());
    spill(tasks() / "1.json", R"({"id":"1","subject":"Parse","owner":"w1","status":"in_progress"})");
    spill(tasks() / "2.json", R"({"id":"2","subject":"Print","owner":"w2","status":"in_progress"})");
    ack();
    config::LogSettings log;
    log.file = scratch.path("log").string();
    telemetry = std::move(*Telemetry::open(log));
    context = std::make_unique<TeamState>("team", config, "/home/u", *ledger, *telemetry, clock);
    restart();
    look_at_roster();
  }

  void restart() {
    shutdowns = std::make_unique<Shutdowns>(*context, port, port, &port, machine, machine);
    REQUIRE(shutdowns->restore());
    outbox = std::make_unique<Outbox>(*context, port, commits);
    REQUIRE(outbox->restore());
  }
  void look_at_roster() {
    if (auto fresh = port.roster()) REQUIRE(context->adopt(*fresh));
  }
  /// A refusal as an error.
  Result<Shutdown> begin(Shutdowns::Order order) const {
    auto outcome = run_awaitable(shutdowns->request(std::move(order)));
    if (!outcome) return outcome.error();
    if (const auto* refused = std::get_if<handlers::NotTaken>(&*outcome)) return error_of(*refused);
    return std::get<Shutdown>(*outcome);
  }
  Result<Shutdown> ask(const std::string& member = "w1", std::optional<config::Duration> force = {}) {
    auto asked = begin({member, "ann", "done for today", {}, force});
    if (asked) id = asked->request_id;
    return asked;
  }
  void tick() {
    clock.advance(500ms);
    look_at_roster();
    run_awaitable(once());
    if (restarts) restart();
  }
  boost::asio::awaitable<bool> once() {
    co_await shutdowns->run_due();
    if (can_write) co_await outbox->run();
    co_return true;
  }
  void pass(std::chrono::seconds time) {
    for (auto rest = time * 2; rest > 0s; rest -= 1s) tick();
  }
  /// The worker answers, as the receiver records it.
  void answer(ShutdownEvent event) {
    auto row = now();
    row.state = *handlers::transition(row.state, event);
    row.changed_ms = clock.wall_ms();
    REQUIRE(ledger->shutdowns().put("team", row));
    shutdowns->answered(row);
  }
  [[nodiscard]] Shutdown now() const { return **ledger->shutdowns().find("team", id); }
  [[nodiscard]] ShutdownState state() const { return now().state; }

  [[nodiscard]] bool is_member() const { return slurp(team() / "config.json").find("\"w1\"") != std::string::npos; }
  [[nodiscard]] bool owns_task() const { return slurp(tasks() / "1.json").find("w1") != std::string::npos; }
  [[nodiscard]] std::vector<MessageRow> told() const {
    return *ledger->deliveries().ready_messages("team", clock.wall_ms() + 1, 100);
  }
  [[nodiscard]] std::size_t sent() const { return ledger->outbox().of_request("team", id)->size(); }
  [[nodiscard]] std::size_t logged(const std::string& event) const {
    const std::string log = slurp(scratch.path("log"));
    std::size_t count = 0;
    for (auto at = log.find('"' + event + '"'); at != std::string::npos; at = log.find('"' + event + '"', at + 1))
      ++count;
    return count;
  }

  /// Whatever happened: the lead, a person's shell and the server are as they were, and so are other people's tasks.
  void check_nobody_else_was_touched() const {
    for (const auto pid : {100, 150, 300}) CHECK(machine.all.count(pid) == 1);
    for (const auto& signal : machine.signals) CHECK(signal.starts_with("20"));
    for (const auto& pane : machine.closed) CHECK(pane == "%7");
    CHECK(slurp(tasks() / "2.json").find("w2") != std::string::npos);
  }
  void check_cleaned(const std::vector<std::string>& closed) const {
    CHECK(state() == ShutdownState::cleaned);
    CHECK(machine.closed == closed);
    CHECK_FALSE(is_member());
    CHECK_FALSE(owns_task());
    CHECK(now().tasks == "1 \"Parse\"");
    REQUIRE(told().size() == 1);
    CHECK(told()[0].sender == "system");
    CHECK(told()[0].type == "teammate_terminated");
    CHECK_THAT(told()[0].message.text, Contains("w1 has shut down.") && Contains("Parse"));
    CHECK(shutdowns->open().empty());
    check_nobody_else_was_touched();
  }
  void check_goes_on(ShutdownState expected) const {
    CHECK(state() == expected);
    CHECK(machine.closed.empty());
    CHECK(machine.signals.empty());
    CHECK(is_member());
    CHECK(owns_task());
    CHECK(shutdowns->open().empty());
    check_nobody_else_was_touched();
  }
};

const std::vector<std::string> its_pane{"%7"};
const std::vector<std::string> none;

}  // namespace

TEST_CASE("a worker that approves and ends: pane closed, member gone, task given back, the lead told once") {
  Story story;
  story.restarts = GENERATE(false, true);
  const auto asked = story.ask();
  REQUIRE(asked);
  CHECK(asked->place.pane_id == "%7");
  CHECK(asked->place.processes == std::vector{*story.machine.identify(201)});
  CHECK(story.sent() == 1);
  story.pass(2s);
  CHECK(story.state() == ShutdownState::requested);
  story.answer(ShutdownEvent::worker_approves);
  story.tick();
  CHECK(story.state() == ShutdownState::approved);
  CHECK(story.machine.closed.empty());
  story.machine.end(201);
  story.pass(2s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals.empty());
  story.pass(30s);
  CHECK(story.told().size() == 1);
  CHECK(story.sent() == 1);
}

TEST_CASE("a worker that answers in prose is reminded once, and its approval then counts") {
  Story story;
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask());
  story.pass(19s);
  CHECK(story.sent() == 1);
  story.pass(20s);
  CHECK(story.sent() == 2);
  CHECK(story.now().reminded_ms > 0);
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(2s);
  story.check_cleaned(its_pane);
  CHECK(story.sent() == 2);
}

TEST_CASE("a worker that rejects goes on: nothing of it is touched, and no reminder follows") {
  Story story(GENERATE(own_pane, no_pane));
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask("w1", 60s));
  story.tick();
  story.answer(ShutdownEvent::worker_rejects);
  story.pass(100s);
  story.check_goes_on(ShutdownState::rejected);
  CHECK(story.sent() == 1);
}

TEST_CASE("a worker that ignores the request goes on when no force is configured, and the lead hears of it") {
  Story story(GENERATE(own_pane, no_pane));
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask());
  story.pass(599s);
  CHECK(story.state() == ShutdownState::requested);
  story.pass(2s);
  story.check_goes_on(ShutdownState::timed_out);
  CHECK(story.sent() == 2);
  REQUIRE(story.told().size() == 1);
  CHECK_THAT(story.told()[0].message.text, Contains("given up") && Contains("did not answer"));
}

TEST_CASE("a clock that is put back while we are down makes no shutdown longer, nor its steps") {
  Story story;
  story.machine.all[201].dies = Dies::kill;
  REQUIRE(story.ask("w1", 100s));
  story.pass(50s);
  story.clock.jump_wall(-24h * 365);
  story.restart();
  story.pass(49s);
  CHECK(story.machine.signals.empty());
  story.pass(52s);
  CHECK(story.machine.signals == std::set<std::string>{"201 TERM"});
  story.clock.jump_wall(-24h);
  story.restart();
  story.pass(8s);
  CHECK(story.machine.signals == std::set<std::string>{"201 TERM", "201 KILL"});
}

TEST_CASE(
    "who could not be asked yet is neither reminded nor forced, its time runs from when it could read the request") {
  Story story;
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask("w1", 60s));
  story.can_write = false;
  story.pass(700s);
  CHECK(story.state() == ShutdownState::requested);
  CHECK(story.sent() == 1);
  CHECK(story.machine.signals.empty());
  story.can_write = true;
  story.pass(19s);
  CHECK(story.sent() == 1);
  story.pass(3s);
  CHECK(story.sent() == 2);
  story.pass(36s);
  CHECK(story.state() == ShutdownState::requested);
  story.pass(20s);
  story.check_cleaned(its_pane);
}

TEST_CASE("a request that its worker never read does not wait for the next one of that name") {
  Story story;
  REQUIRE(story.ask("w1", 60s));
  story.tick();
  const auto inbox = story.folder() / "w1.json";
  REQUIRE_THAT(slurp(inbox), Contains("shutdown_request"));
  story.pass(80s);
  story.check_cleaned(its_pane);
  const auto left = poller::InboxDocument::scan(slurp(inbox), {"team", "w1"});
  REQUIRE(left.entries().size() == 2);
  for (const auto& entry : left.entries()) CHECK(entry.read == poller::ReadFlag::read);
}

TEST_CASE("a request that was given up waits for its worker, and not for the next one of that name") {
  Story story;
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask());
  story.pass(601s);
  REQUIRE(story.state() == ShutdownState::timed_out);
  const auto unread = [&] {
    const auto left = poller::InboxDocument::scan(slurp(story.folder() / "w1.json"), {"team", "w1"});
    return std::ranges::count_if(left.entries(), [](const auto& one) { return one.read != poller::ReadFlag::read; });
  };
  CHECK(unread() == 2);
  const std::string alone = R"({"name": "team", "leadAgentId": "team-lead@team", "leadSessionId": "s", "members": [
    {"agentId": "team-lead@team", "name": "team-lead"})";
  const auto next = R"(,{"agentId": "w1@team", "name": "w1", "joinedAt": )" + std::to_string(story.clock.wall_ms()) + "}";
  spill(story.team() / "config.json", alone + (GENERATE(false, true) ? next : std::string()) + "]}");
  story.pass(1s);
  CHECK(unread() == 0);
}

TEST_CASE("the request of a shutdown that is over is not written again when a peer writes over it") {
  Story story;
  const auto inbox = story.folder() / "w1.json";
  spill(inbox, "[" + entry("older", "true") + "]");
  const auto before = slurp(inbox);
  REQUIRE(story.ask());
  story.tick();
  REQUIRE_THAT(slurp(inbox), Contains("shutdown_request"));
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(2s);
  REQUIRE(story.state() == ShutdownState::cleaned);
  spill(inbox, before);
  run_awaitable(story.port.receive("w1", poller::Access::observe, 100));
  story.outbox->look("w1", true);
  story.pass(2s);
  CHECK(slurp(inbox) == before);
  CHECK(story.logged("reply.rewritten") == 0);
}

TEST_CASE("a late approval still counts") {
  Story story;
  REQUIRE(story.ask());
  story.pass(601s);
  REQUIRE(story.state() == ShutdownState::timed_out);
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(2s);
  CHECK(story.state() == ShutdownState::cleaned);
  CHECK(story.told().size() == 2);
}

TEST_CASE("with force a worker that ignores the request gets TERM, and KILL only when it survives that") {
  Story story;
  story.restarts = GENERATE(false, true);
  const auto dies = GENERATE(Dies::term, Dies::kill);
  story.machine.all[201].dies = dies;
  REQUIRE(story.ask("w1", 60s));
  story.pass(59s);
  CHECK(story.machine.signals.empty());
  story.pass(12s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals ==
        (dies == Dies::term ? std::set<std::string>{"201 TERM"} : std::set<std::string>{"201 KILL", "201 TERM"}));
}

TEST_CASE("a worker that dies without an answer is cleaned up after") {
  Story story;
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask());
  story.machine.end(201);
  story.pass(2s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals.empty());
}

TEST_CASE("a worker that approves but survives has a moment, then TERM, then KILL") {
  Story story;
  story.restarts = GENERATE(false, true);
  story.machine.all[201].dies = Dies::kill;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.pass(4s);
  CHECK(story.machine.signals.empty());
  story.pass(2s);
  CHECK(story.machine.signals == std::set<std::string>{"201 TERM"});
  story.pass(6s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals == std::set<std::string>{"201 KILL", "201 TERM"});
}

TEST_CASE("a worker that nothing ends is given up after the timeout, with its pane and its place in the team") {
  Story story;
  story.restarts = GENERATE(false, true);
  story.machine.all[201].dies = Dies::never;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.pass(602s);
  CHECK(story.state() == ShutdownState::timed_out);
  CHECK(story.machine.closed.empty());
  CHECK(story.is_member());
  CHECK(story.told().size() == 1);
  story.check_nobody_else_was_touched();
}

TEST_CASE("what lives on in the pane when it is closed is ended too, and nothing else") {
  Story story;
  story.machine.start(202, 200, joined + 999, {"npm", "run", "watch"});
  story.machine.all[202].dies = Dies::kill;
  story.machine.start(400, 1, joined, {"somebody's"});
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.tick();
  CHECK(story.machine.closed == its_pane);
  CHECK(story.state() == ShutdownState::process_gone);
  story.machine.all[202].parent = 1;  // as an orphan
  if (GENERATE(false, true)) {
    story.pass(7s);
    story.restart();  // patience begins anew: nobody was there to see
  }
  story.pass(11s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals == std::set<std::string>{"202 KILL", "202 TERM"});
  CHECK(story.machine.all.count(400) == 1);
}

TEST_CASE("a worker without a pane of its own: consent is believed, nothing is closed or signalled") {
  Story story(no_pane);
  story.restarts = GENERATE(false, true);
  REQUIRE(story.ask("w1", GENERATE(std::optional<config::Duration>(), std::optional<config::Duration>(60s))));
  story.answer(ShutdownEvent::worker_approves);
  story.pass(2s);
  story.check_cleaned(none);
  CHECK(story.machine.signals.empty());
  CHECK_THAT(story.told()[0].message.text, Contains("No pane was closed"));
}

TEST_CASE("no pane is touched that is not certainly the worker's, and it is said why") {
  const auto place = [](const std::string& fields, const std::function<void(Story&)>& prepare = {},
                        const std::string& more = {}) {
    Story story(fields, more);
    if (prepare) prepare(story);
    const auto asked = story.ask();
    REQUIRE(asked);
    CHECK(asked->place.pane_id.empty());
    story.answer(ShutdownEvent::worker_approves);
    story.machine.end(201);
    story.pass(20s);
    CHECK(story.state() == ShutdownState::cleaned);
    CHECK(story.machine.closed.empty());
    CHECK(story.machine.signals.empty());
    story.check_nobody_else_was_touched();
    return asked->place.left_alone;
  };
  CHECK_THAT(place(no_pane), Contains("in-process"));
  CHECK_THAT(place(R"("tmuxPaneId": "w0t0p0", "backendType": "iterm2")"), Contains("iterm2"));
  CHECK_THAT(place(R"("tmuxPaneId": "", "backendType": "tmux")"), Contains("names no tmux pane"));
  CHECK_THAT(place(R"("tmuxPaneId": "%7;kill-server", "backendType": "tmux")"), Contains("names no tmux pane"));
  CHECK_THAT(place(R"("backendType": "tmux")"), Contains("names no tmux pane"));
  CHECK_THAT(place(R"("tmuxPaneId": "%77")"), Contains("tmux does not know pane %77"));
  CHECK_THAT(place(R"("tmuxPaneId": "%1")"), Contains("team-lead as well"));
  CHECK_THAT(place(own_pane, {}, R"(, {"agentId": "w2@team", "name": "w2", "tmuxPaneId": "%7"})"),
             Contains("w2 as well"));
  CHECK_THAT(place(R"("tmuxPaneId": "%9")"), Contains("nothing in it names the worker"));  // was there before it
  const auto refuses_tmux = [](Story& story) { story.machine.tmux_problem = Error{"panes.unavailable", "no tmux"}; };
  CHECK_THAT(place(own_pane, refuses_tmux), Contains("no tmux"));
  const auto restarted = [](Story& story) {  // a later server gave the number to somebody else
    story.machine.end(201);
    story.machine.all[200].started_ms = joined + 130'000;
  };
  CHECK_THAT(place(own_pane, restarted), Contains("nothing in it names the worker"));
  const auto ours = [](Story& story) { story.machine.start(::getpid(), 200, joined + 1000); };
  CHECK_THAT(place(own_pane, ours), Contains("this program"));
  const auto leads = [](Story& story) {
    story.context->roster.lead_process = schema::LeadProcess{205, {}, 0};
    story.machine.start(205, 200, joined + 1000);
  };
  CHECK_THAT(place(own_pane, leads), Contains("lead's own"));
}

TEST_CASE("old rosters without a backend name the pane alone, and a pane that began with its worker is its own") {
  Story story(R"("tmuxPaneId": "%7")");
  story.machine.all[201].arguments = {"client"};
  const auto asked = story.ask();
  REQUIRE(asked);
  CHECK(asked->place.pane_id == "%7");
  CHECK(asked->place.processes == std::vector{*story.machine.identify(201)});
  CHECK(asked->place.left_alone.empty());
}

TEST_CASE("where nothing names the worker it is what runs in front of the shells in its pane") {
  const auto worker = [](const std::function<void(Machine&)>& prepare) {
    Story story;
    story.machine.all[201].arguments = {"claude"};
    prepare(story.machine);
    return story.ask()->place.processes;
  };
  const auto is = [](long long pid) { return std::vector<ProcessRef>{{pid, "s" + std::to_string(pid)}}; };
  CHECK(worker([](Machine&) {}) == is(201));
  CHECK(worker([](Machine& machine) { machine.all[200].arguments = {"-zsh"}; }) == is(201));
  CHECK(worker([](Machine& machine) {
          machine.all[201].arguments = {"/bin/bash", "-c", "claude"};
          machine.start(202, 201, joined + 950, {"claude"});
        }) == is(202));
  CHECK(worker([](Machine& machine) { machine.all[200].arguments = {"claude"}; }) == is(200));  // no shell: the client
  CHECK(worker([](Machine& machine) { machine.end(201); }) == is(200));
  CHECK(worker([](Machine& machine) { machine.start(202, 200, joined + 950, {"job"}); }) == is(200));
  // What a person started there later is not the worker that joined.
  CHECK(worker([](Machine& machine) { machine.all[201].started_ms = joined + 130'000; }) == is(200));
}

TEST_CASE("a client that dies in its shell is noticed, and one that agrees is not waited for there") {
  Story story;
  story.restarts = GENERATE(false, true);
  story.machine.all[201].arguments = {"claude"};
  REQUIRE(story.ask());
  if (GENERATE(false, true)) story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(2s);
  story.check_cleaned(its_pane);
  CHECK(story.machine.signals.empty());
}

TEST_CASE("what a worker started ends with it, wherever it lives by then, and nobody else") {
  Story story;
  const bool restarts = GENERATE(false, true);
  auto& machine = story.machine;
  machine.start(202, 201, joined + 5000, {"tool"});  // is there when the worker is asked
  machine.all[202].dies = Dies::kill;
  machine.start(204, 201, joined + 5000, {"client", "--agent-id", "w2@team"});  // a worker of its own
  machine.start(205, 204, joined + 5000, {"its tool"});
  machine.start(206, 201, joined + 5000, {"sudo"});
  machine.strangers.insert(206);
  machine.start(400, 1, joined, {"tool"});  // looks like it
  REQUIRE(story.ask("w1", GENERATE(std::optional<config::Duration>(), std::optional<config::Duration>(60s))));
  story.pass(30s);
  machine.start(203, 202, joined + 5000, {"tool of the tool"});  // began later
  story.pass(2s);
  if (restarts) story.restart();
  const bool forced = story.now().force_ms != 0;
  SECTION("by force") {
    if (!forced) story.answer(ShutdownEvent::worker_approves);
    story.pass(35s);
    if (restarts) story.restart();
    story.pass(25s);
  }
  SECTION("killed by somebody") {
    machine.end(201);
    machine.end(202);
    story.pass(3s);
    if (restarts) story.restart();
    story.pass(20s);
    CHECK(machine.all.count(203) == 0);
  }
  CHECK(story.state() == ShutdownState::cleaned);
  for (const long long pid : {201, 202, 203}) CHECK(machine.all.count(pid) == 0);
  for (const long long pid : {204, 205, 206, 400, 150}) CHECK(machine.all.count(pid) == 1);
  for (const long long pid : {204, 205, 206, 400}) CHECK(machine.signals.count(std::to_string(pid) + " TERM") == 0);
}

TEST_CASE("what was recorded and then became a worker of its own is not ended") {
  Story story;
  auto& machine = story.machine;
  machine.start(202, 201, joined + 5000, {"claude"});  // between fork and exec
  machine.start(203, 202, joined + 5000, {"its tool"});
  REQUIRE(story.ask("w1", 60s));
  CHECK(story.now().survivors.size() == 2);
  machine.all[202].arguments = {"client", "--agent-id", "w2@team"};
  story.pass(70s);
  CHECK(story.state() == ShutdownState::cleaned);
  for (const long long pid : {202, 203}) {
    CHECK(machine.all.count(pid) == 1);
    CHECK(machine.signals.count(std::to_string(pid) + " TERM") == 0);
  }
}

TEST_CASE("with close_panes = false the process is followed and the pane stays") {
  Story story;
  story.context->config.shutdown.close_panes = false;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.tick();
  CHECK(story.state() == ShutdownState::approved);
  story.machine.end(201);
  story.pass(2s);
  story.check_cleaned(none);
}

TEST_CASE("a pane that became somebody else's after we asked is not closed") {
  Story story;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  SECTION("another program was started in it") {
    story.machine.panes[1].first = story.machine.all[200].process = {200, "another start"};
  }
  SECTION("another server has one of that number") {
    story.machine.start(101, 1, joined + 500'000);
    story.machine.panes[1].server = *story.machine.identify(101);
  }
  SECTION("it was closed by hand") { story.machine.panes.erase(story.machine.panes.begin() + 1); }
  story.pass(3s);
  story.check_cleaned(none);
  CHECK(story.machine.signals.empty());
}

TEST_CASE("a daemon that was started in the worker's pane meanwhile does not close it") {
  Story story;
  REQUIRE(story.ask());
  story.machine.start(::getpid(), 200, joined + 500'000);
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(10s);
  CHECK(story.machine.closed.empty());
  CHECK(story.machine.signals.empty());
  CHECK(story.logged("shutdown.stuck") == 1);
  CHECK_THAT(story.now().detail, Contains("this program was started in it"));
}

TEST_CASE("tmux that does not answer is waited for, and given up in the end") {
  Story story;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.machine.tmux_problem = Error{"panes.unavailable", "tmux did not answer"};
  story.pass(10s);
  CHECK(story.state() == ShutdownState::process_gone);
  CHECK(story.logged("shutdown.stuck") == 1);
  CHECK(story.is_member());
  SECTION("it answers again") {
    story.machine.tmux_problem.reset();
    story.pass(2s);
    story.check_cleaned(its_pane);
  }
  SECTION("it never does") {
    story.pass(600s);
    CHECK(story.state() == ShutdownState::timed_out);
    CHECK(story.is_member());
    CHECK(story.told().size() == 1);
  }
}

TEST_CASE("a held lock is told once, and the cleanup goes on when it is free") {
  Story story;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  const auto lock = GENERATE(std::string("team/config.json.lock"), std::string("tasks/.lock.lock"));
  const auto path = story.scratch.path(lock);
  fs::create_directory(path);
  for (int i = 0; i < 30; ++i) {
    story.tick();
    fs::last_write_time(path, fs::last_write_time(path) + 1s);  // its holder lives
  }
  CHECK(story.state() == ShutdownState::pane_gone);
  CHECK(story.logged("shutdown.stuck") == 1);
  CHECK(story.is_member());
  CHECK(story.told().empty());
  story.restart();
  fs::remove(path);
  story.pass(2s);
  story.check_cleaned(its_pane);
}

TEST_CASE("a roster that a dying client left empty is never written: the cleanup waits for a person") {
  Story story;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  spill(story.team() / "config.json", "");
  story.clock.advance(10s);
  story.pass(5s);
  CHECK(story.state() == ShutdownState::pane_gone);
  CHECK(slurp(story.team() / "config.json").empty());
  CHECK_THAT(story.now().detail, Contains("config.json") && Contains("Repair"));
  spill(story.team() / "config.json", roster_with(own_pane));
  story.pass(2s);
  story.check_cleaned(its_pane);
}

TEST_CASE("cleanup does what is configured and says what it passed over") {
  Story story;
  SECTION("members and tasks stay") {
    story.context->config.shutdown.remove_members = false;
    story.context->config.shutdown.release_tasks = false;
  }
  SECTION("a task file that is none") { spill(story.tasks() / "3.json", "nonsense"); }
  const bool all = story.context->config.shutdown.remove_members;
  story.clock.advance(10s);
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  story.pass(3s);
  CHECK(story.state() == ShutdownState::cleaned);
  CHECK(story.is_member() == !all);
  CHECK(story.owns_task() == !all);
  if (all) CHECK_THAT(story.now().detail, Contains("3.json was passed over"));
}

TEST_CASE("who joined under the same name after we asked keeps place and tasks") {
  Story story;
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.machine.end(201);
  const auto later = std::to_string(story.clock.wall_ms() + 100);
  spill(story.team() / "config.json", R"({"name":"team","leadAgentId":"team-lead@team","leadSessionId":"s","members":[
    {"agentId":"team-lead@team","name":"team-lead"},{"agentId":"w1@team","name":"w1","joinedAt":)" +
                                          later + "}]}");
  story.pass(3s);
  CHECK(story.state() == ShutdownState::cleaned);
  CHECK(story.is_member());
  CHECK(story.owns_task());
}

TEST_CASE("who joined before we asked is whom we asked, also when the clock was set ahead before that") {
  Story story;
  story.clock.set_system(2h);
  const auto joined_then = std::to_string(story.clock.system_ms() - 1000);
  spill(story.team() / "config.json", R"({"name":"team","leadAgentId":"team-lead@team","leadSessionId":"s","members":[
    {"agentId":"team-lead@team","name":"team-lead"},{"agentId":"w1@team","name":"w1","joinedAt":)" +
                                          joined_then + "}]}");
  story.look_at_roster();
  REQUIRE(story.ask());
  story.answer(ShutdownEvent::worker_approves);
  story.pass(10s);
  CHECK(story.state() == ShutdownState::cleaned);
  CHECK_FALSE(story.is_member());
  CHECK_FALSE(story.owns_task());
}

TEST_CASE("only a present worker can be asked, and only once at a time") {
  Story story;
  CHECK(story.ask("nobody").error().code == "member.unknown");
  CHECK(story.ask("team-lead").error().code == "member.unknown");
  CHECK(story.shutdowns->open().empty());
  REQUIRE(story.ask());
  const auto first = story.id;
  story.clock.advance(1s);
  const auto second = story.ask();
  REQUIRE_FALSE(second);
  CHECK(second.error().code == "shutdown.open");
  CHECK_THAT(second.error().message, Contains(first));
  story.answer(ShutdownEvent::worker_rejects);
  REQUIRE(story.ask());
  CHECK(story.id != first);
}

TEST_CASE("a shutdown that waits for its answer is hurried, and never slowed down") {
  Story story;
  REQUIRE(story.ask());
  const auto first = story.id;
  SECTION("by a time") {
    REQUIRE(story.ask("w1", 5s));
    CHECK(story.id == first);
    REQUIRE(story.ask("w1", 3600s));
    story.pass(15s);
  }
  SECTION("at once, also while its request cannot be written") {
    story.can_write = GENERATE(false, true);
    const auto forced = story.begin({"w1", "ann", "", {}, {}, true});
    REQUIRE(forced);
    CHECK(forced->request_id == first);
    CHECK(forced->state == ShutdownState::forced);
    CHECK(story.begin({"w1", "ann", "", {}, {}, true}).error().code == "shutdown.open");
    story.pass(10s);
  }
  CHECK(story.ledger->shutdowns().latest("team", 10)->size() == 1);
  story.check_cleaned(its_pane);
}

TEST_CASE("what happens while tmux is asked counts: another request, a worker that leaves") {
  Story story;
  bool once = true;
  const auto in_the_middle = [&](const std::function<void()>& what) {
    story.machine.while_looking = [&once, what] {
      if (std::exchange(once, false)) what();
    };
  };
  SECTION("another request") {
    in_the_middle([&] { REQUIRE(story.ask()); });
    CHECK(story.ask().error().code == "shutdown.open");
    CHECK(story.shutdowns->open().size() == 1);
    CHECK(story.sent() == 1);
  }
  SECTION("a worker that leaves") {
    in_the_middle([&] {
      REQUIRE(story.port.remove_member("w1").put == WriteStatus::done);
      story.look_at_roster();
    });
    CHECK(story.ask().error().code == "member.unknown");
    CHECK(story.shutdowns->open().empty());
  }
}

namespace {

/// A worker that a lead of the newest generation started: it would not obey a request of ours.
struct SignedStory : Story {
  WorkerProcesses workers{machine, clock};
  explicit SignedStory(const std::string& worker_fields = own_pane, const std::string& more = {})
      : Story(worker_fields, more) {
    machine.all[201].arguments = {"client", "--agent-id", "w1@team", "--lead-verify-key", "1.MCow"};
    context->workers = &workers;
  }
  Result<Shutdown> force(const std::string& member = "w1") {
    auto asked = begin({member, "ann", "", {}, {}, true});
    if (asked) id = asked->request_id;
    return asked;
  }
};

}  // namespace

TEST_CASE("a worker that the roster does not list is judged by its process") {
  SignedStory story;
  story.machine.all[201].arguments = {"client", "--agent-id", "unlisted@team", "--lead-verify-key", "1.MCow"};
  CHECK(story.context->answer_authority("unlisted").counts());  // a stranger costs no search
  story.context->members["unlisted"];
  CHECK_FALSE(story.context->answer_authority("unlisted").counts());
}

TEST_CASE("a worker that would not obey is not asked, whatever is configured, and it is said what force would end") {
  SignedStory story;
  for (const auto& after : {std::optional<config::Duration>(), std::optional<config::Duration>(1s)}) {
    const auto asked = story.ask("w1", after);
    REQUIRE_FALSE(asked);
    CHECK(asked.error().code == "worker.verifies_lead");
    CHECK_THAT(asked.error().message, Contains("shutdown w1 --force, which ends its pane %7 and its process 201"));
  }
  CHECK(story.shutdowns->open().empty());
  CHECK(story.ledger->shutdowns().latest("team", 10)->empty());
  CHECK(*story.ledger->outbox().owed("team") == 0);
}

TEST_CASE("force asks nobody: what is on record ends at once, and nothing else") {
  SignedStory story;
  story.restarts = GENERATE(false, true);
  story.machine.all[201].dies = GENERATE(Dies::hangup, Dies::kill);
  const auto asked = story.force();
  REQUIRE(asked);
  CHECK_THAT(asked->detail, Contains("its pane %7 and its process 201"));
  story.pass(10s);
  CHECK(story.sent() == 0);
  CHECK(story.machine.signals.contains("201 TERM"));
  story.check_cleaned(its_pane);
}

TEST_CASE("force on a worker that takes our answers asks it no more than another one") {
  Story story;
  auto asked = story.begin({"w1", "ann", "", {}, {}, true});
  REQUIRE(asked);
  story.id = asked->request_id;
  story.pass(10s);
  CHECK(story.sent() == 0);
  story.check_cleaned(its_pane);
}

TEST_CASE("a worker that takes our answers and is not on record is not ended by force either") {
  SignedStory story(no_pane);
  story.machine.all[201].arguments = {"client", "--agent-id", "w1@team"};
  CHECK(story.force().error().code == "shutdown.nothing_recorded");
  CHECK(story.is_member());
}

TEST_CASE("what is not on record is not ended by force, and keeps its place while it lives") {
  SignedStory story(no_pane);
  auto asked = story.force();
  REQUIRE_FALSE(asked);
  CHECK(asked.error().code == "shutdown.nothing_recorded");
  CHECK_THAT(asked.error().message, Contains("its process 201 lives"));
  CHECK(story.is_member());
  story.machine.end(201);
  story.clock.advance(1s);
  story.context->roster.lead_process = schema::LeadProcess{0x7ffffff0, {}, 0};
  CHECK(story.ask().error().code == "worker.verifies_lead");  // presumed: nobody can tell any more
  REQUIRE(story.force());
  story.pass(5s);
  story.check_cleaned(none);
}

TEST_CASE("who ended is told once, when that is on record") {
  SignedStory story;
  REQUIRE(story.force());
  std::vector<std::string> ended;
  for (int n = 0; n < 20; ++n) {
    story.tick();
    for (const auto& one : story.shutdowns->take_ended())
      ended.push_back(one.member + std::string(to_string(one.state)));
  }
  CHECK(ended == std::vector<std::string>{"w1process_gone", "w1cleaned"});
}

TEST_CASE("who ended is not told before that is on record") {
  SignedStory story;
  REQUIRE(story.force());
  story.machine.end(201);
  story.context->guard = [] { return Status(Error{"ledger.busy", "no commit succeeds"}); };
  for (int n = 0; n < 5; ++n) story.tick();
  CHECK(story.shutdowns->take_ended().empty());
  story.context->guard = {};
  story.tick();
  CHECK(story.shutdowns->take_ended().size() == 1);
}

}  // namespace inbox_poller::shutdowns_test

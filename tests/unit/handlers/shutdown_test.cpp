#include "handlers/shutdown.hpp"

#include <array>

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::shutdown_test {

using namespace testing;

namespace {

using State = ShutdownState;
using Event = ShutdownEvent;
using Step = ShutdownStep;

constexpr std::array states{State::requested, State::approved, State::forced,   State::process_gone,
                            State::pane_gone, State::cleaned,  State::rejected, State::timed_out};
constexpr std::array events{Event::worker_approves, Event::worker_rejects, Event::force_is_due, Event::process_ends,
                            Event::pane_closes,     Event::traces_removed, Event::time_passes};

/// The table once more, as people draw it: a row a state, a column an event; "." is "stays as it is".
struct Line {
  const char* state;
  std::array<const char*, 7> next;
};
constexpr std::array<Line, 8> drawn{{
    // approves   rejects     force     process ends    pane closes  traces     time
    {"requested", {"approved", "rejected", "forced", "process_gone", ".", ".", "timed_out"}},
    {"approved", {".", ".", ".", "process_gone", ".", ".", "timed_out"}},
    {"forced", {"approved", ".", ".", "process_gone", ".", ".", "timed_out"}},
    {"process_gone", {".", ".", ".", ".", "pane_gone", ".", "timed_out"}},
    {"pane_gone", {".", ".", ".", ".", ".", "cleaned", "timed_out"}},
    {"cleaned", {".", ".", ".", ".", ".", ".", "."}},
    {"rejected", {".", ".", ".", ".", ".", ".", "."}},
    {"timed_out", {"approved", "rejected", ".", ".", ".", ".", "."}},
}};

const ProcessRef worker{4711, "100"};
const ProcessRef shell{4700, "90"};

/// A worker in a pane, asked at noon: reminder after 20 s, end of waiting after 10 minutes, grace 5 s.
struct Case {
  Shutdown shutdown;
  ShutdownSight sight{.process = true, .pane = true, .survivors = false};
  config::ShutdownSettings settings;

  explicit Case(State state = State::requested) {
    shutdown.request_id = "shutdown-1790000000000@w1";
    shutdown.member = "w1";
    shutdown.state = state;
    shutdown.requested_ms = shutdown.changed_ms = noon;
    shutdown.remind_ms = noon + 20'000;
    shutdown.timeout_ms = noon + 600'000;
    shutdown.place.pane_id = "%7";
    shutdown.place.pane = shell;
    shutdown.place.processes = {worker};
  }

  /// What is done so many milliseconds after noon: "advance process_ends", "kill", …
  [[nodiscard]] std::string at(EpochMs after) const {
    static constexpr std::array names{"wait", "remind", "terminate", "kill", "close_pane", "remove_traces", "advance"};
    const NextStep next = next_step(shutdown, sight, settings, noon + after);
    std::string told = names.at(static_cast<std::size_t>(next.step));
    if (next.event) told.append(" ").append(to_string(*next.event));
    return told;
  }
};

ShutdownOrder order_for(std::string member) {
  ShutdownOrder order;
  order.member = std::move(member);
  order.by = "alice";
  order.reason = "Thank you";
  order.remind_after = std::chrono::seconds(20);
  order.place.pane_id = "%7";
  return order;
}

ShutdownDraft draft(const Team& team, const ShutdownOrder& order) {
  const auto drafted = draft_shutdown(order, team.view(), noon);
  if (const auto* not_taken = std::get_if<NotTaken>(&drafted)) FAIL(not_taken->reason);
  return std::get<ShutdownDraft>(drafted);
}

Outcome answered(bool approves, std::string_view from, const Shutdown* known) {
  schema::Message message;
  message.from = from;
  const schema::MessageKey key;
  const Incoming incoming{message, key, noon};
  const std::string id = "shutdown-1790000000000@w1";
  if (approves) return answer_shutdown(schema::ShutdownApproved{id, "w1", "t", "%0", "tmux"}, incoming, known);
  return answer_shutdown(schema::ShutdownRejected{id, "w1", "task 3\nstill runs", "t"}, incoming, known);
}

}  // namespace

TEST_CASE("every cell of the shutdown table is as drawn") {
  for (std::size_t row = 0; row < states.size(); ++row) {
    REQUIRE(to_string(states[row]) == drawn[row].state);
    for (std::size_t column = 0; column < events.size(); ++column) {
      INFO(drawn[row].state << " + " << to_string(events[column]));
      const auto next = transition(states[row], events[column]);
      CHECK((next ? to_string(*next) : ".") == drawn[row].next[column]);
    }
  }
}

TEST_CASE("an open shutdown can time out, and no other can") {
  for (const State state : states) CHECK(is_open(state) == transition(state, Event::time_passes).has_value());
}

TEST_CASE("shutdown states are read back from the names they are stored under") {
  for (const State state : states) CHECK(schema::parse<State>(to_string(state)) == state);
  CHECK_FALSE(schema::parse<State>(""));
  CHECK_FALSE(schema::parse<State>("Approved"));
  for (const Event one : events) {
    for (const Event other : events) CHECK((to_string(one) == to_string(other)) == (one == other));
  }
}

TEST_CASE("a request waits, is repeated in words once, and ends unanswered at its time") {
  Case asked;
  CHECK(asked.at(0) == "wait");
  CHECK(asked.at(19'999) == "wait");
  CHECK(asked.at(20'000) == "remind");
  asked.shutdown.reminded_ms = noon + 20'000;
  CHECK(asked.at(20'001) == "wait");
  CHECK(asked.at(599'999) == "wait");
  CHECK(asked.at(600'000) == "advance time_passes");
  asked.shutdown.reminded_ms = 0;
  CHECK(asked.at(600'000) == "advance time_passes");
  asked.shutdown.remind_ms = 0;
  CHECK(asked.at(20'000) == "wait");
}

TEST_CASE("force comes only if it was ordered, and then before the end of waiting") {
  Case asked;
  asked.shutdown.reminded_ms = noon + 20'000;
  asked.shutdown.force_ms = noon + 60'000;
  CHECK(asked.at(59'999) == "wait");
  CHECK(asked.at(60'000) == "advance force_is_due");
  asked.shutdown.timeout_ms = noon + 60'000;
  CHECK(asked.at(60'000) == "advance force_is_due");
}

TEST_CASE("a worker that is gone without an answer is cleaned up after, as far as its end can be seen") {
  Case asked;
  asked.sight.process = false;
  CHECK(asked.at(0) == "advance process_ends");
  asked.sight = {.process = true, .pane = false, .survivors = false};
  CHECK(asked.at(0) == "wait");

  asked.shutdown.place.processes.clear();  // only its pane is known
  asked.sight = {.process = false, .pane = true, .survivors = false};
  CHECK(asked.at(0) == "wait");
  asked.sight.pane = false;
  CHECK(asked.at(0) == "advance process_ends");

  asked.shutdown.place.pane_id.clear();  // nothing is known: only its answer can tell
  CHECK(asked.at(0) == "wait");
  CHECK(asked.at(20'000) == "remind");
}

TEST_CASE("nothing is signalled and no pane is closed before the worker agreed or force is due") {
  for (const bool process : {true, false}) {
    for (const bool pane : {true, false}) {
      for (const bool survivors : {true, false}) {
        for (const State state : {State::requested, State::rejected, State::timed_out, State::cleaned}) {
          for (const EpochMs after : {0, 5'000, 20'000, 600'000, 100'000'000}) {
            Case any(state);
            any.shutdown.survivors = {shell};
            any.sight = {process, pane, survivors};
            const NextStep next = next_step(any.shutdown, any.sight, any.settings, noon + after);
            CHECK((next.step == Step::wait || next.step == Step::remind || next.step == Step::advance));
          }
        }
      }
    }
  }
}

TEST_CASE("a worker that agreed gets its grace, then TERM, then KILL, and then waiting ends") {
  Case agreed(State::approved);
  CHECK(agreed.at(4'999) == "wait");
  CHECK(agreed.at(5'000) == "terminate");
  agreed.shutdown.term_ms = noon + 6'000;
  CHECK(agreed.at(10'999) == "wait");
  CHECK(agreed.at(11'000) == "kill");
  agreed.shutdown.kill_ms = noon + 11'000;
  CHECK(agreed.at(599'999) == "wait");
  CHECK(agreed.at(600'000) == "advance time_passes");
  agreed.sight.process = false;
  CHECK(agreed.at(600'000) == "advance process_ends");
}

TEST_CASE("where the roster says who has ended, that alone is the end, with an answer or without one") {
  for (const State state : {State::requested, State::approved, State::forced}) {
    Case one(state);
    one.shutdown.place = {};
    one.sight = {.ended = false};
    CAPTURE(to_string(state));
    CHECK(one.at(10'000) == "wait");
    one.sight.ended = true;
    CHECK(one.at(10'000) == "advance process_ends");
  }
  Case agreed(State::approved);
  agreed.shutdown.place = {};
  agreed.sight = {.ended = false};
  CHECK(agreed.at(700'000) == "advance time_passes");
}

TEST_CASE("a worker of a JSONL team is asked under an id as its program has them, and never forced") {
  Team team;
  team.config.team.backend = config::Backend::jsonl;
  ShutdownOrder order = order_for("w1");
  order.force_after = std::chrono::seconds(60);
  const Shutdown drafted = draft(team, order).shutdown;
  CHECK(drafted.request_id.size() == 8);
  CHECK(drafted.request_id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(drafted.force_ms == 0);
  CHECK(draft(team, order_for("w2")).shutdown.request_id != drafted.request_id);
}

TEST_CASE("nobody of a maildir is asked to end, and that is said") {
  Team team;
  team.config.team.backend = config::Backend::maildir;
  const auto drafted = draft_shutdown(order_for("w1"), team.view(), 1'000);
  REQUIRE(std::holds_alternative<NotTaken>(drafted));
  CHECK(std::get<NotTaken>(drafted).code == "order.not_carried");
}

TEST_CASE("who is forced is signalled at once") {
  Case forced(State::forced);
  CHECK(forced.at(0) == "terminate");
  forced.shutdown.term_ms = noon;
  CHECK(forced.at(4'999) == "wait");
  CHECK(forced.at(5'000) == "kill");
}

TEST_CASE("after a long absence of ours the signals still come first") {
  Case agreed(State::approved);
  CHECK(agreed.at(100'000'000) == "terminate");
  agreed.shutdown.term_ms = noon + 100'000'000;
  CHECK(agreed.at(100'005'000) == "kill");
}

TEST_CASE("signals of an earlier state are not counted in this one") {
  Case late(State::approved);  // agreed after it had timed out, KILL and all
  late.shutdown.term_ms = noon - 500'000;
  late.shutdown.kill_ms = noon - 490'000;
  CHECK(late.at(0) == "wait");
  CHECK(late.at(5'000) == "terminate");
}

TEST_CASE("a worker without a recorded process is not signalled - its pane may tell that it needs a moment") {
  Case agreed(State::approved);
  agreed.shutdown.place.processes.clear();
  agreed.sight.process = false;
  CHECK(agreed.at(4'999) == "wait");
  CHECK(agreed.at(5'000) == "advance process_ends");
  agreed.sight.pane = false;
  CHECK(agreed.at(0) == "advance process_ends");
  Case in_process(State::approved);
  in_process.shutdown.place = {};
  in_process.sight = {};
  CHECK(in_process.at(0) == "advance process_ends");
}

TEST_CASE("the recorded pane is closed as long as it is there, and not for ever") {
  Case ended(State::process_gone);
  ended.sight = {.process = false, .pane = true, .survivors = false};
  CHECK(ended.at(0) == "close_pane");
  CHECK(ended.at(599'999) == "close_pane");
  CHECK(ended.at(600'000) == "advance time_passes");
  ended.sight.pane = false;
  CHECK(ended.at(0) == "advance pane_closes");
}

TEST_CASE("no pane is closed that was not recorded, or if none shall be") {
  Case ended(State::process_gone);
  ended.settings.close_panes = false;
  CHECK(ended.at(0) == "advance pane_closes");
  ended.settings.close_panes = true;
  ended.shutdown.place.pane_id.clear();
  CHECK(ended.at(0) == "advance pane_closes");
}

TEST_CASE("what outlives its pane gets TERM, then KILL, and then waiting ends") {
  Case closed(State::process_gone);
  closed.shutdown.survivors = {shell};
  closed.sight = {.process = false, .pane = false, .survivors = true};
  CHECK(closed.at(4'999) == "wait");
  CHECK(closed.at(5'000) == "terminate");
  closed.shutdown.term_ms = noon + 5'000;
  CHECK(closed.at(10'000) == "kill");
  closed.shutdown.kill_ms = noon + 10'000;
  CHECK(closed.at(599'999) == "wait");
  CHECK(closed.at(600'000) == "advance time_passes");
  closed.sight.survivors = false;
  CHECK(closed.at(5'000) == "advance pane_closes");
}

TEST_CASE("the last traces are removed whenever it becomes possible") {
  CHECK(Case(State::pane_gone).at(0) == "remove_traces traces_removed");
  CHECK(Case(State::pane_gone).at(100'000'000) == "remove_traces traces_removed");
}

TEST_CASE("every step leads on: whatever event it names, the table takes it") {
  for (const State state : states) {
    for (int bits = 0; bits < 32; ++bits) {
      for (const EpochMs after : {0, 5'000, 20'000, 600'000}) {
        Case any(state);
        any.sight = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        if ((bits & 8) != 0) any.shutdown.place = {};
        if ((bits & 16) != 0) any.shutdown.survivors = {shell};
        any.shutdown.term_ms = any.shutdown.kill_ms = noon;
        const NextStep next = next_step(any.shutdown, any.sight, any.settings, noon + after);
        INFO(to_string(state) << ", " << bits << ", after " << after);
        if (next.event) CHECK(transition(state, *next.event));
        CHECK((next.step != Step::advance || next.event));
        CHECK((is_open(state) || next.step == Step::wait));
      }
    }
  }
}

TEST_CASE("a request has an id of ours, exactly the keys that workers take, and its times") {
  const Team team;
  ShutdownOrder order = order_for("w1");
  order.force_after = std::chrono::seconds(60);
  const ShutdownDraft drafted = draft(team, order);
  CHECK(drafted.shutdown.request_id == "shutdown-1790000000000@w1");
  CHECK(drafted.shutdown.state == State::requested);
  CHECK(drafted.shutdown.by == "alice");
  CHECK(drafted.shutdown.remind_ms == noon + 20'000);
  CHECK(drafted.shutdown.force_ms == noon + 60'000);
  CHECK(drafted.shutdown.timeout_ms == noon + 600'000);
  CHECK(drafted.shutdown.place.pane_id == "%7");
  CHECK(drafted.request->inbox == "w1");
  CHECK(drafted.request->message.text ==
        R"({"type":"shutdown_request","requestId":"shutdown-1790000000000@w1","from":"team-lead",)"
        R"("reason":"Thank you","timestamp":"2026-09-21T14:13:20.000Z"})");
}

TEST_CASE("what was not ordered is not sent and not due") {
  ShutdownOrder order = order_for("w1");
  order.reason.clear();
  order.remind_after = config::Duration(0);
  const ShutdownDraft drafted = draft(Team(), order);
  CHECK(drafted.shutdown.remind_ms == 0);
  CHECK(drafted.shutdown.force_ms == 0);
  CHECK(drafted.request->message.text ==
        R"({"type":"shutdown_request","requestId":"shutdown-1790000000000@w1","from":"team-lead",)"
        R"("timestamp":"2026-09-21T14:13:20.000Z"})");
}

TEST_CASE("waiting never ends before force is due") {
  ShutdownOrder order = order_for("w1");
  order.force_after = std::chrono::hours(1);
  const Shutdown shutdown = draft(Team(), order).shutdown;
  CHECK(shutdown.timeout_ms == shutdown.force_ms);
}

TEST_CASE("neither the lead nor somebody who is no member can be asked to end") {
  const Team team;
  for (const char* name : {"team-lead", "nobody", "old-hand", "user", ""}) {
    const auto drafted = draft_shutdown(order_for(name), team.view(), noon);
    REQUIRE(std::holds_alternative<NotTaken>(drafted));
    CHECK(std::get<NotTaken>(drafted).code == "member.unknown");
  }
  CHECK(std::get<NotTaken>(draft_shutdown(order_for("team-lead"), team.view(), noon)).reason ==
        "\"team-lead\" is the lead itself, not a worker of it");
}

TEST_CASE("the reminder repeats the id and names the tool, and is chat to every decoder") {
  const Case asked;
  const Post remind = reminder_of(asked.shutdown, Team().view(), noon + 20'000);
  const std::string text = remind.message.text;
  CHECK(remind.inbox == "w1");
  CHECK(text.find("request_id \"shutdown-1790000000000@w1\"") != std::string::npos);
  CHECK(text.find("shutdown_response") != std::string::npos);
  CHECK(std::holds_alternative<schema::PlainText>(schema::decode_payload(text)));
  CHECK(reminded_order(text) == "shutdown-1790000000000@w1");
  CHECK(reminded_order("A reminder: shutdown request 7").empty());
}

TEST_CASE("the lead is told by the system what ended, what was given back and what was left alone") {
  const Team team;
  Case done(State::pane_gone);
  const auto told = [&] { return end_notice(done.shutdown, team.view(), noon); };
  CHECK(told().message.text == R"({"type":"teammate_terminated","message":"w1 has shut down."})");
  done.shutdown.tasks = R"(1 "Parse", 3 "Print")";
  done.shutdown.place.left_alone = "iTerm2 panes are not ours to close";
  const Notice notice = told();
  const auto& read = notice.message;
  CHECK(read.from == "system");
  const auto payload = schema::decode_payload(read.text);
  REQUIRE(std::holds_alternative<schema::TeammateTerminated>(payload));
  CHECK(
      std::get<schema::TeammateTerminated>(payload).message ==
      "w1 has shut down. Unfinished tasks were given back: 1 \"Parse\", 3 \"Print\". No pane was closed: iTerm2 panes "
      "are not ours to close.");
  CHECK(notice.key == schema::make_message_key({"falcon", "team-lead"}, "system", read.timestamp, read.text, 0));
  CHECK(told().message == notice.message);
}

TEST_CASE("a worker's answer counts for the shutdown that it was asked for") {
  const Case asked;
  const auto yes = expect<ShutdownAnswered>(answered(true, "w1@falcon", &asked.shutdown));
  CHECK(yes.request_id == asked.shutdown.request_id);
  CHECK(yes.approved);
  const auto no = expect<ShutdownAnswered>(answered(false, "w1", &asked.shutdown));
  CHECK_FALSE(no.approved);
  CHECK(no.answer == "task 3 still runs");
}

TEST_CASE("an answer to nothing, or of somebody else, is refused") {
  const Case asked;
  CHECK(expect<Refused>(answered(true, "w1", nullptr)).code == "shutdown.never_requested");
  CHECK(expect<Refused>(answered(true, "w1", nullptr)).reason ==
        "shutdown_approved from \"w1\": we never sent a shutdown request shutdown-1790000000000@w1");
  CHECK(expect<Refused>(answered(true, "w2", &asked.shutdown)).code == "shutdown.other_worker");
  CHECK(expect<Refused>(answered(false, "w2", &asked.shutdown)).code == "shutdown.other_worker");
}

TEST_CASE("an answer is taken exactly where the table knows a way on") {
  for (const State state : states) {
    for (const bool approves : {true, false}) {
      INFO(to_string(state) << (approves ? " approves" : " rejects"));
      const Case known(state);
      const Outcome outcome = answered(approves, "w1", &known.shutdown);
      if (transition(state, approves ? Event::worker_approves : Event::worker_rejects)) {
        CHECK(std::holds_alternative<ShutdownAnswered>(outcome));
      } else {
        CHECK(expect<Refused>(outcome).code == "shutdown.already_answered");
      }
    }
  }
  const Case ended(State::process_gone);
  CHECK(expect<Refused>(answered(true, "w1", &ended.shutdown)).reason ==
        "shutdown_approved from \"w1\": shutdown request shutdown-1790000000000@w1 (process gone since "
        "2026-09-21T14:13:20.000Z) takes no such answer now");
}

}  // namespace inbox_poller::handlers::shutdown_test

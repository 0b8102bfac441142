// The end of a worker, from the request to its last trace: states, steps, and message bytes. Pure. Invariants: only the
// pane and processes recorded before the request are closed or signaled, and later their descendants and the pane's
// processes. Nothing is signaled before the worker agrees or a configured force is due. An approval counts once, under
// an id of InboxPoller, from the worker concerned. Source: docs/reference/wire.md W20.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "handlers/outgoing.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

enum class ShutdownState {
  requested,     // sent, no answer yet
  approved,      // the worker agreed, its process still runs
  forced,        // the worker did not agree in time; handled like an approval
  process_gone,  // its process ended, by itself or by a signal
  pane_gone,     // its pane is closed, or none was to close
  cleaned,       // removed from roster and tasks; the lead was notified
  rejected,      // the worker refused and continues
  timed_out,     // no answer, or a process or pane remained; a late approval still counts
};
BOOST_DESCRIBE_ENUM(ShutdownState, requested, approved, forced, process_gone, pane_gone, cleaned, rejected, timed_out)
inline std::string_view to_string(ShutdownState state) { return schema::name_of(state); }

BOOST_DEFINE_ENUM_CLASS(ShutdownEvent, worker_approves, worker_rejects, force_is_due, process_ends, pane_closes,
                        traces_removed, time_passes)
inline std::string_view to_string(ShutdownEvent event) { return schema::name_of(event); }

/// Returns the state after an event; empty if the event does not apply. Total.
std::optional<ShutdownState> transition(ShutdownState, ShutdownEvent);

/// Returns true while a step or an event is still due.
bool is_open(ShutdownState);

/// A process that cannot be confused with a later one of the same number.
struct ProcessRef {
  long long pid = 0;
  std::string started;  // the system's start mark; opaque
  bool operator==(const ProcessRef&) const = default;
};

/// The worker's place at the time of the request.
struct WorkerPlace {
  std::string backend;                // the roster's backendType
  std::string pane_id;                // "%7"; empty if no pane will be closed
  ProcessRef server;                  // the tmux server
  ProcessRef pane;                    // the pane's first process
  std::vector<ProcessRef> processes;  // the worker itself; empty if unknown
  std::string left_alone;             // why no pane is closed, a sentence; empty if pane_id is set
};

/// One shutdown, as in the ledger. Times are 0 if the event did not or will not happen.
struct Shutdown {
  std::string request_id;  // shutdown-<ms>@<member>; 8 hexadecimal digits in JSONL teams
  std::string member;
  std::string agent_id;
  EpochMs joined_ms = 0;  // the roster's joinedAt of the worker; 0: unknown
  std::string by;      // who requested it
  std::string reason;  // for the worker
  ShutdownState state = ShutdownState::requested;
  EpochMs requested_ms = 0;
  EpochMs remind_ms = 0;    // when the reminder is due
  EpochMs reminded_ms = 0;   // when the reminder was sent
  EpochMs force_ms = 0;    // when it proceeds without consent
  EpochMs timeout_ms = 0;  // when waiting ends
  EpochMs changed_ms = 0;
  EpochMs term_ms = 0;     // when TERM was sent, in this state
  EpochMs kill_ms = 0;
  WorkerPlace place;
  std::vector<ProcessRef> survivors;  // the worker's descendants, and the pane's processes when the pane was closed
  std::string answer;                 // the worker's words with a rejection
  std::string tasks;                  // returned tasks, for people: "1 \"Parse\", 3 \"Print\""
  std::string detail;                 // what it waits for, or what was left alone; a sentence
};

/// Evidence about the worker now. Unknown evidence (tmux does not answer) counts as still there.
struct ShutdownSight {
  bool process = false;    // one of place.processes lives
  bool pane = false;       // the recorded pane exists, with the same server and first process
  bool survivors = false;  // one of `survivors` lives
  std::optional<bool> ended = {};  // as the roster says, if it does (JSONL teams)
};

/// The next action. An attempted signal is marked in term_ms or kill_ms even if it failed, because the next step needs
/// the mark.
enum class ShutdownStep {
  wait,
  remind,          // send the reminder
  terminate,      // TERM to the recorded live processes
  kill,           // KILL to the same
  close_pane,     // record the pane's processes, then close the pane
  remove_traces,  // change roster and tasks, notify the lead
  advance,        // only record the event
};
struct NextStep {
  ShutdownStep step = ShutdownStep::wait;
  std::optional<ShutdownEvent> event;  // recorded after the step
};
/// Returns the next step. Total and pure; the same view gives the same step, so a restart may repeat the call.
NextStep next_step(const Shutdown&, const ShutdownSight&, const config::ShutdownSettings&, EpochMs now_ms);

struct ShutdownOrder {
  std::string member;
  std::string by;
  std::string reason;
  config::Duration remind_after{0};  // zero: no reminder
  std::optional<config::Duration> force_after;
  bool force = false;  // at once, without a request
  WorkerPlace place;
};
struct ShutdownDraft {
  Shutdown shutdown;
  std::optional<Post> request;  // none for a forced shutdown
};
/// Returns the shutdown and its request, or why not (unknown member, the lead itself).
std::variant<ShutdownDraft, NotTaken> draft_shutdown(const ShutdownOrder&, const TeamView&, EpochMs now_ms);

/// Returns what a shutdown in this state waits for, for people.
std::string waiting_for(const Shutdown&);
/// Returns why a shutdown was given up in this state.
std::string given_up(ShutdownState);
/// Returns what a forced end would end, for people: "its pane %7 and its processes 4711, 4712".
std::string named(const WorkerPlace&);

/// Returns the reminder: plain text that repeats the id.
Post reminder_of(const Shutdown&, const TeamView&, EpochMs now_ms);
/// Returns the request id in a text of reminder_of(); empty for any other text.
std::string reminded_order(std::string_view text);

/// Returns the notice to the lead that a shutdown was completed or given up.
Notice end_notice(const Shutdown&, const TeamView&, EpochMs now_ms);

/// Judges a worker's answer: for which shutdown, and with what result.
Outcome answer_shutdown(const schema::ShutdownApproved&, const Incoming&, const Shutdown* known);
Outcome answer_shutdown(const schema::ShutdownRejected&, const Incoming&, const Shutdown* known);
/// Returns the shutdown after such an answer; empty if the answer does not apply in its state.
std::optional<Shutdown> after_answer(Shutdown, const ShutdownAnswered&, EpochMs now_ms);

}  // namespace inbox_poller::handlers

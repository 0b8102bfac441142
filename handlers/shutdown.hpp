// Ending a worker: from our request to its last trace. Pure: which state follows, which step is next, and the bytes
// that are sent. Invariants: only what was recorded before the request was sent (pane, processes) is ever closed or
// signalled, whatever a message says; nothing is signalled before the worker agreed or a configured force is due; an
// approval counts only under an id of ours, from the worker it was sent to, once. Source: docs/reference/wire.md W20.
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
  forced,        // nobody agreed, the configured time is over: treated as if it had
  process_gone,  // its process has ended, by itself or by our signal
  pane_gone,     // its pane is closed, or there was none to close
  cleaned,       // roster and tasks know it no longer; the lead was told
  rejected,      // the worker refused; it goes on
  timed_out,     // no answer, or something would not go away; a late approval still counts
};
BOOST_DESCRIBE_ENUM(ShutdownState, requested, approved, forced, process_gone, pane_gone, cleaned, rejected, timed_out)
inline std::string_view to_string(ShutdownState state) { return schema::name_of(state); }

BOOST_DEFINE_ENUM_CLASS(ShutdownEvent, worker_approves, worker_rejects, force_is_due, process_ends, pane_closes,
                        traces_removed, time_passes)
inline std::string_view to_string(ShutdownEvent event) { return schema::name_of(event); }

/// Total; empty when the event does not apply.
std::optional<ShutdownState> transition(ShutdownState, ShutdownEvent);

/// True while something is still to be done or waited for.
bool is_open(ShutdownState);

/// A process that cannot be mistaken for a later one of the same number.
struct ProcessRef {
  long long pid = 0;
  std::string started;  // the system's own start mark; opaque
  bool operator==(const ProcessRef&) const = default;
};

/// Where the worker lived when we asked. Nothing else is ever closed or signalled.
struct WorkerPlace {
  std::string backend;                // the roster's backendType
  std::string pane_id;                // "%7"; empty when no pane will be touched
  ProcessRef server;                  // the tmux server
  ProcessRef pane;                    // the pane's first process
  std::vector<ProcessRef> processes;  // the worker itself; empty when it cannot be told
  std::string left_alone;             // why no pane is touched, a sentence; empty when pane_id is set
};

/// One shutdown, as the ledger keeps it. Times are 0 when the thing did not or will not happen.
struct Shutdown {
  std::string request_id;  // shutdown-<ms>@<member>; 8 hexadecimal digits in JSONL teams, whose programs have such
  std::string member;
  std::string agent_id;
  std::string by;      // who asked for it
  std::string reason;  // told to the worker
  ShutdownState state = ShutdownState::requested;
  EpochMs requested_ms = 0;
  EpochMs nudge_ms = 0;    // when the reminder is due
  EpochMs nudged_ms = 0;   // when it was sent
  EpochMs force_ms = 0;    // when it goes on without consent
  EpochMs timeout_ms = 0;  // when waiting ends
  EpochMs changed_ms = 0;  // when the state was entered
  EpochMs term_ms = 0;     // when TERM was sent, in this state
  EpochMs kill_ms = 0;
  WorkerPlace place;
  std::vector<ProcessRef> survivors;  // what descended from it while it lived, or lived in the pane when we closed it
  std::string answer;                 // the worker's words with a rejection
  std::string tasks;                  // given back, for people: "1 \"Parse\", 3 \"Print\""
  std::string detail;                 // what is waited for, or was left alone; a sentence
};

/// What is to be seen of the worker now. What cannot be told (tmux does not answer) counts as still there.
struct ShutdownSight {
  bool process = false;    // one of place.processes lives
  bool pane = false;       // the recorded pane is still there, with the same server and first process
  bool survivors = false;  // one of `survivors` lives
  std::optional<bool> ended = {};  // what the roster says of it, where a roster does (JSONL teams)
};

/// A signal that was tried is marked in term_ms or kill_ms, whether or not it could be sent: the next step counts on
/// it.
enum class ShutdownStep {
  wait,
  nudge,          // send the reminder
  terminate,      // TERM to what is recorded and lives
  kill,           // KILL to the same
  close_pane,     // record what lives in the pane, then close it
  remove_traces,  // roster, tasks, the word to the lead
  advance,        // nothing to do but record the event
};
struct NextStep {
  ShutdownStep step = ShutdownStep::wait;
  std::optional<ShutdownEvent> event;  // to be recorded when the step is done
};
/// What to do now. Total and pure; the same view gives the same step, so it may be asked again after a crash.
NextStep next_step(const Shutdown&, const ShutdownSight&, const config::ShutdownSettings&, EpochMs now_ms);

struct ShutdownOrder {
  std::string member;
  std::string by;
  std::string reason;
  config::Duration nudge_after{0};  // zero: no reminder
  std::optional<config::Duration> force_after;
  bool force = false;  // without asking it, at once
  WorkerPlace place;
};
struct ShutdownDraft {
  Shutdown shutdown;
  std::optional<Post> request;  // none to one that is not asked
};
/// The request to send, or why not (no such member, the lead itself).
std::variant<ShutdownDraft, NotTaken> draft_shutdown(const ShutdownOrder&, const TeamView&, EpochMs now_ms);

/// What stands for a shutdown in each state, for people.
std::string waiting_for(const Shutdown&);
/// Why a shutdown was given up, going by the state in which time ran out.
std::string given_up(ShutdownState);
/// What ending it would end, for people: "its pane %7 and its processes 4711, 4712".
std::string named(const WorkerPlace&);

/// The reminder: plain words that repeat the id.
Post nudge_of(const Shutdown&, const TeamView&, EpochMs now_ms);

/// What the lead is told when one was cleaned up or given up.
Notice end_notice(const Shutdown&, const TeamView&, EpochMs now_ms);

/// A worker's answer: to which shutdown, and what it says.
Outcome answer_shutdown(const schema::ShutdownApproved&, const Incoming&, const Shutdown* known);
Outcome answer_shutdown(const schema::ShutdownRejected&, const Incoming&, const Shutdown* known);
/// The shutdown after such an answer; empty where the table knows no way on.
std::optional<Shutdown> after_answer(Shutdown, const ShutdownAnswered&, EpochMs now_ms);

}  // namespace inbox_poller::handlers

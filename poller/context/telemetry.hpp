// The daemon's log: one line per state transition, through one function, with an enum of event names.
// docs/reference/log-events.md lists each event's fields and level. Programs get JSON lines, terminals get readable
// text, both from one Fields. Invariants: one event is one line, whatever its texts contain; message bodies are never
// logged; likely secrets are masked. Levels: warn is an external problem that was handled; error is ours and will be
// retried; critical stops the daemon.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "poller/context/tally.hpp"
#include "poller/ledger/ledger.hpp"
#include "schema/error.hpp"

namespace spdlog {
class logger;
}

namespace inbox_poller::poller {

enum class Event {
  daemon_started,
  daemon_warning,
  daemon_stopping,
  daemon_stopped,
  daemon_fault,
  daemon_reloaded,
  daemon_reload_refused,
  poll_slow,
  roster_appeared,
  roster_vanished,
  roster_changed,
  roster_unreadable,
  roster_restored,
  roster_mode,
  member_unreachable,
  roster_ignored,
  inbox_state,
  inbox_unreadable,
  inbox_quarantined,
  inbox_compacted,
  inbox_lock_foreign,
  inbox_full,
  inbox_orphaned,
  inbox_competing_consumer,
  inbox_role,
  message_accepted,
  message_rejected,
  message_malformed,
  message_duplicate,
  message_already_read,
  message_marked,
  message_ignored,
  message_consumed,
  request_pending,
  request_decided,
  request_repeated,
  request_unanswered,
  request_reminded,
  request_answered_by_lead,
  reply_written,
  reply_finished,
  reply_read,
  reply_deferred,
  reply_rewritten,
  reply_failed,
  delivery_offered,
  delivery_delivered,
  delivery_requeued,
  delivery_failed,
  delivery_method,
  delivery_expired,
  lead_state,
  lead_permission,
  lead_accepted,
  approver_notified,
  approver_notify_failed,
  answer_foreign,
  answer_malformed,
  answer_forged,
  worker_verifies_lead,
  shutdown_requested,
  shutdown_state,
  shutdown_reminded,
  shutdown_signaled,
  shutdown_stuck,
  task_assigned,
  task_released,
  task_reported,
  task_report_failed,
  rule_added,
  rule_removed,
  setting_sent,
  setting_applied,
  setting_not_applied,
  control_listening,
  control_command,
  control_problem,
  ledger_fault,
  ledger_begun,
  ledger_gone,
  ledger_saved,
  ledger_recovered,
  ledger_set_aside,
  ledger_pruned,
  cluster_leader,
  cluster_degraded,
  cluster_recovered,
  replication_queued,
  replication_received,
  replication_rejected,
};
inline constexpr Event last_event = Event::replication_rejected;

/// Name of an event, such as "request.decided".
std::string_view event_name(Event);
config::LogLevel event_level(Event);

/// Ordered name-value pairs. Names come from the catalog: team, inbox, from, type, request_id, message_key, old, new,
/// by, rule, reason, latency_ms, …
using Fields = std::vector<std::pair<std::string_view, std::string>>;

struct LoggedEvent {
  Event event;
  Fields fields;
};

class Telemetry {
 public:
  /// Opens the log. Error: "log.file" when the file cannot be opened safely (a link, or another user's file).
  static Result<std::unique_ptr<Telemetry>> open(const config::LogSettings&);
  ~Telemetry();

  void emit(Event, const Fields&);
  /// Writes all events, one line each; small lines share a write.
  void emit(std::span<const LoggedEvent>);
  void set_level(config::LogLevel);
  /// Opens a new log file when the file at its path is not the open one (removed or renamed). Call at intervals. Cost:
  /// one `lstat`; none if the log is standard error.
  void keep_file();
  /// Writes lines for a person who has started the daemon at a terminal; no other log gets them.
  void welcome(const std::string& lines);
  /// Counters of a team, updated by emitted events and by other callers.
  Tally& tally(const std::string& team) { return tallies_[team]; }

 private:
  explicit Telemetry(std::shared_ptr<spdlog::logger>);
  /// Appends a line without its end. `time` is `at_ms` as the line shows it in JSON.
  void append_line(std::string& lines, Event, const Fields&, EpochMs at_ms, std::string_view time) const;
  void count(Event, const Fields&);

  std::shared_ptr<spdlog::logger> logger_;
  std::string file_;  // empty: standard error
  dev_t device_ = 0;  // of the file last seen under this name
  ino_t inode_ = 0;
  bool is_complained_ = false;
  bool json_ = true;
  bool terminal_ = false;
  bool color_ = false;
  bool journal_ = false;  // prefix each line with its level
  std::map<std::string, Tally> tallies_;
};

/// Converts an event to a line of the history.
HistoryRow history_line(Event, const Fields&, EpochMs at_ms);

}  // namespace inbox_poller::poller

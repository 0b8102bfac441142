// The daemon's log: one line per state transition, through one function, with an enum of event names. The catalogue
// with each event's fields and level is docs/reference/log-events.md. JSON lines for programs, readable text for a
// terminal; both from one Fields. Invariants: one event is one line, whatever the texts in it contain; message bodies
// are never logged; what looks like a secret is masked. Levels by consequence: warn is somebody else's fault, handled;
// error is ours and will be retried; critical stops us.
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
  roster_mended,
  roster_mode,
  roster_unserved,
  roster_ignored,
  inbox_state,
  inbox_unreadable,
  inbox_quarantined,
  inbox_compacted,
  inbox_lock_foreign,
  inbox_full,
  inbox_phantom,
  inbox_foreign_consumer,
  inbox_role,
  message_accepted,
  message_refused,
  message_bad,
  message_duplicate,
  message_already_read,
  message_marked,
  message_left,
  message_consumed,
  request_pending,
  request_decided,
  request_repeated,
  request_unanswered,
  request_nudged,
  request_lost_race,
  effect_written,
  effect_done,
  effect_consumed,
  effect_deferred,
  effect_rewritten,
  effect_dead,
  delivery_offered,
  delivery_delivered,
  delivery_requeued,
  delivery_failed,
  delivery_rung,
  delivery_expired,
  lead_state,
  lead_permission,
  lead_accepted,
  person_notified,
  person_notify_failed,
  answer_foreign,
  answer_malformed,
  answer_forged,
  worker_verifies,
  shutdown_requested,
  shutdown_state,
  shutdown_nudged,
  shutdown_signalled,
  shutdown_stuck,
  task_assigned,
  task_given_back,
  task_told,
  task_tell_failed,
  rule_added,
  rule_removed,
  order_sent,
  order_adopted,
  order_not_adopted,
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
  hosts_leader,
  hosts_trouble,
  hosts_recovered,
  letter_taken,
  letter_arrived,
  letter_refused,
};
inline constexpr Event last_event = Event::letter_refused;

/// "request.decided"
std::string_view event_name(Event);
config::LogLevel event_level(Event);

/// Ordered name-value pairs. Names come from the catalogue: team, inbox, from, type, request_id, message_key, old, new,
/// by, rule, reason, latency_ms, …
using Fields = std::vector<std::pair<std::string_view, std::string>>;

struct LoggedEvent {
  Event event;
  Fields fields;
};

class Telemetry {
 public:
  /// Errors when the log file cannot be opened safely (a link, somebody else's file).
  static Result<std::unique_ptr<Telemetry>> open(const config::LogSettings&);
  ~Telemetry();

  void emit(Event, const Fields&);
  /// All of them, a line each; as many in one write as are little.
  void emit(std::span<const LoggedEvent>);
  void set_level(config::LogLevel);
  /// Begins a new log file when the one at its path is not the one that is written to: it was removed or moved away.
  /// To be called now and then. Cheap: one `lstat`, and nothing where the log is standard error.
  void keep_file();
  /// Lines for a person who has just started us at a terminal; nobody else reads them.
  void welcome(const std::string& lines);
  /// What is counted of each team, by what is told here and by who has something else to count.
  Tally& tally(const std::string& team) { return tallies_[team]; }

 private:
  explicit Telemetry(std::shared_ptr<spdlog::logger>);
  [[nodiscard]] std::string line(Event, const Fields&, EpochMs at_ms) const;
  void count(Event, const Fields&);

  std::shared_ptr<spdlog::logger> logger_;
  std::string file_;  // empty: standard error
  dev_t device_ = 0;  // of the file that had this name last
  ino_t inode_ = 0;
  bool is_complained_ = false;
  bool json_ = true;
  bool terminal_ = false;
  bool colour_ = false;
  bool journal_ = false;  // each line's level stands in front of it
  std::map<std::string, Tally> tallies_;
};

/// An event as a line of the history.
HistoryRow history_line(Event, const Fields&, EpochMs at_ms);

}  // namespace inbox_poller::poller

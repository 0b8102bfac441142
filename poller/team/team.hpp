// One team's service: a poll of its inboxes from the first look to the last effect, and the push of chat beside
// it. Order within a poll (docs/architecture.md): look, read, take in (one commit), mark read, look at the workers'
// inboxes, settle what is due, carry out effects.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "poller/changes.hpp"
#include "poller/context/client_sessions.hpp"
#include "poller/context/team_context.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/hosts/host_service.hpp"
#include "poller/mailbox/members.hpp"
#include "poller/systems/transport.hpp"
#include "poller/pause.hpp"
#include "poller/team/asks.hpp"
#include "poller/team/handover.hpp"
#include "poller/team/host_ends.hpp"
#include "poller/team/housekeeping.hpp"
#include "poller/team/intake.hpp"
#include "poller/team/notifier.hpp"
#include "poller/team/orders.hpp"
#include "poller/team/plan_reminders.hpp"
#include "poller/team/quarantine.hpp"
#include "poller/team/shutdowns.hpp"
#include "poller/team/stops.hpp"
#include "poller/team/task_keeper.hpp"
#include "poller/team/worker_boxes.hpp"
#include "poller/team/worker_calls.hpp"

namespace inbox_poller::poller {

/// What all teams share. Outlives every Team.
struct Services {
  FileSystem& files;
  Ledger& ledger;
  Telemetry& telemetry;
  const Clock& clock;
  GroupCommit& commits;
  Quarantine& quarantine;
  Processes& processes;
  boost::asio::any_io_executor executor;  // the decision thread
  boost::asio::thread_pool& pool;         // for reads of big files
  std::string home;
  std::string state_dir = {};  // of the ledger, and of what a mailbox system keeps beside it
  Changes changes{clock.wall_ms()};
  WorkerProcesses workers{processes, clock};
  /// The way to other hosts, for a team with [hosts]. An error says why there is none.
  std::function<Result<std::unique_ptr<Exchange>>(const config::TeamConfig&)> open_exchange = {};
};

/// How the lead's inbox looked at the last poll, for `status` and the log.
struct InboxReport {
  std::string state = "not polled yet";  // ok, missing, empty, torn, not_regular, too_large, locked, fault
  std::string detail;
};

/// What another consumer did with the lead's inbox since we began to watch it.
struct Watched {
  std::uint64_t consumed = 0;
  std::uint64_t waiting = 0;
  EpochMs oldest_waiting_ms = 0;  // when the oldest waiting one was first seen; 0: none waits
  EpochMs longest_ms = 0;         // the longest that one waited
};

/// How the roster looked at the last poll, likewise.
struct RosterReport {
  std::string state = "not read yet";  // ok, empty, unreadable
  std::string detail;
};

class Team {
 public:
  Team(Services& services, const config::TeamConfig& config, const std::string& name);
  /// With these boxes instead of those that the configuration names.
  Team(Services& services, const config::TeamConfig& config, std::string name, OpenTeam boxes);

  /// Picks up everything that was open before a restart.
  Status restore();

  enum class Polled { served, no_team };
  /// One poll. `no_team` when the folder is not a team (any more).
  boost::asio::awaitable<Polled> poll();

  /// Pushes queued chat to the configured sinks while the gate is open.
  boost::asio::awaitable<void> deliver() { return delivery_.push(); }

  /// Runs the next program that is due beside the polls (person.notify, tasks.on_done), until `given_up`. True when another may be due
  /// at once.
  boost::asio::awaitable<bool> errands(std::function<bool()> given_up) {
    return run_errands(std::move(given_up));
  }

  /// Waits for the poll interval, or until somebody pokes or hints.
  boost::asio::awaitable<void> wait();
  /// Something is to be done now (a person answered, the lead went idle): do not wait for the interval.
  void poke();
  /// Something may have changed in the inboxes: poll soon. However many hints come, polls stay a few milliseconds
  /// apart.
  void hint();
  /// Whether hint() is called for every change, as far as anybody knows.
  void hears_changes(bool hears) { hears_changes_ = hears; }

  /// Raised when there may be something new for the lead to take or an errand to run, or the team is left. What comes
  /// due by time alone raises nothing.
  Signal& chat() { return chat_; }

  /// Whether chat for the lead or an errand waits, so that something may come due by time alone.
  [[nodiscard]] bool something_waits();

  /// Puts a message of ours into a member's inbox by way of the ledger. The recipient must be a member.
  Result<schema::MessageKey> send(const std::string& to, const std::string& text, const std::string& summary,
                                  bool to_all = false);

  /// Makes a worker the owner of a task on the team's board and tells it so. The task as it was.
  Result<schema::Task> assign(const std::string& task, const std::string& to, const std::string& by);

  /// What somebody else than the worker itself (a hook) tells of it. Empty `task`: the one that is known. Nothing
  /// happens when it is no worker of the team.
  Status heard_of(const std::string& member, const std::string& state, const std::string& task);

  TeamContext& context() { return context_; }
  Asks& asks() { return asks_; }
  Delivery& delivery() { return delivery_; }
  Shutdowns& shutdowns() { return shutdowns_; }
  Orders& orders() { return orders_; }
  WorkerCalls& worker_calls() { return worker_calls_; }
  [[nodiscard]] const WorkerBoxes& worker_boxes() const { return worker_boxes_; }
  [[nodiscard]] const Outbox& outbox() const { return outbox_; }
  /// The team's task queue; null where its mailbox system has none.
  [[nodiscard]] const Coordination* tasks() const { return boxes_.tasks.get(); }
  /// Its service between hosts; null where the team has one host.
  [[nodiscard]] HostService* hosts() const { return hosts_.get(); }
  [[nodiscard]] const Watched& watched() const { return watched_; }
  /// The living session of the lead, as its client tells of it; none where it is not told.
  [[nodiscard]] const std::optional<LiveSession>& lead_session() const { return lead_session_.live(); }
  [[nodiscard]] const handlers::Standing& standing() const { return context_.standing; }
  /// Back to the configured role after a foreign consumer stopped us. A lead that lives is not heeded any more.
  Status resume();

  /// A new configuration for the same team, root, transport and lead: holds from now on.
  void reconfigure(const config::TeamConfig& config);
  /// Nobody serves the team any more: what was lent out is queued again, and receivers are told.
  void retire();
  [[nodiscard]] bool retired() const { return retired_; }

  [[nodiscard]] const InboxReport& inbox_report() const { return report_; }
  [[nodiscard]] const RosterReport& roster_report() const { return roster_report_; }
  [[nodiscard]] std::string inbox_path() const;
  [[nodiscard]] const Housekeeping& housekeeping() const { return housekeeping_; }
  [[nodiscard]] const Contention& contention() const { return contention_; }

 private:
  boost::asio::awaitable<bool> run_errands(std::function<bool()> given_up);
  /// Why a poll goes no further: no team, or a roster that cannot be read yet; empty when it does.
  std::optional<Polled> look_at_roster();
  /// What was read last is in the ledger, or will be within a second: for the next process.
  void keep_roster(const RosterCopy&);
  /// The roster's file holds nothing: the team is served by what was last seen in it, and as its only leader we put
  /// that back.
  void do_without_roster();
  using Boxes = Result<std::span<const News>>;
  boost::asio::awaitable<void> look_at_lead(Boxes);
  boost::asio::awaitable<void> look_at_alias(std::string box, Boxes);
  /// What came for the lead from other hosts.
  boost::asio::awaitable<void> look_at_letters();
  boost::asio::awaitable<void> look_at_workers(std::span<const News>);
  [[nodiscard]] bool watches_all() const;
  /// As whom we read the lead's inbox.
  [[nodiscard]] Reader reader() const;
  /// All that is new in a box of the lead's. False when something was left undone.
  boost::asio::awaitable<bool> take_in(std::string box, Intake& intake);
  /// How the lead's inbox looks at the beginning of a look. False when the look ends here.
  boost::asio::awaitable<bool> begin_look(const Batch&);
  boost::asio::awaitable<bool> settle(std::string box, std::vector<Disposal>);
  /// What the lead or somebody else did with the inbox since the last look.
  void heed(const Batch&);
  void foreign_consumer(std::string code, std::size_t count);
  /// Somebody else consumes the lead's inbox: does as configured.
  void give_way(const std::string& reason);
  /// A client that leads the team lives, so it reads the lead's inbox. `who` begins a sentence and says what shows it.
  void give_way_to_lead(std::string_view code, const std::string& who);
  void stand(handlers::Standing);
  /// A client that says in the roster that it leads the team, and lives, reads the lead's inbox itself.
  void heed_lead_process();
  /// Likewise one that made the team, going by the file that it keeps of its session; and what that says of its turns.
  void heed_lead_session();
  /// Whether a person said that we lead beside this client.
  [[nodiscard]] bool is_accepted(const std::string& claim) const;
  /// Whether the team is led from this host now.
  void heed_hosts();
  boost::asio::awaitable<void> set_torn_aside(const Batch&);
  void report(BoxState, const std::string& detail);
  void tell_worry(const std::string& detail);
  /// Nobody else reads the lead's inbox, as far as we have seen.
  [[nodiscard]] bool is_alone() const;

  Services& services_;
  TeamContext context_;
  OpenTeam boxes_;
  std::unique_ptr<HostService> hosts_;
  Mailbox& mailbox_;
  Members& members_;
  Notifier notifier_;
  Asks asks_;
  Intake intake_;
  Intake between_;  // what others write to each other, where all of it is watched
  std::map<std::string, Intake> alias_intakes_;
  Outbox outbox_;
  TmuxPanes panes_;       // where workers live
  TmuxPanes lead_panes_;  // where the lead lives
  Delivery delivery_;
  Shutdowns shutdowns_;
  std::unique_ptr<HostEnds> host_ends_;
  std::unique_ptr<Handover> handover_;
  WorkerCalls worker_calls_;
  Stops stops_;
  Orders orders_;
  PlanReminders plan_reminders_;
  TaskKeeper task_keeper_;
  WorkerBoxes worker_boxes_;
  Housekeeping housekeeping_;
  std::vector<SteadyTime> foreign_signs_;
  bool retired_ = false;
  boost::asio::steady_timer timer_;
  bool poked_ = false;
  bool hinted_ = false;
  bool hears_changes_ = false;
  bool look_at_all_ = true;  // a hint came, or nobody watches
  SteadyTime began_ = services_.clock.steady();
  boost::asio::steady_timer::time_point polled_at_;  // when the poll under way or the last one began
  Signal chat_;
  long long no_chat_at_ = -1;  // the ledger's chat_changes(), when none waited
  long long changes_ = -1;  // the ledger's, when we last raised it
  bool must_read_ = true;   // something was left undone: read although the file does not change
  SessionWatch lead_session_;
  RosterReport roster_report_;
  std::string lead_claim_;      // that was heeded
  std::string roster_problem_;
  std::optional<std::size_t> kept_roster_;  // a hash of what the ledger has
  SteadyTime roster_kept_;                  // since when it has it
  bool roster_rests_ = false;               // the poll under way found it as it was read
  SteadyTime whole_poll_at_;                // no later
  bool has_roster_ = false;
  bool roster_adopted_ = false;  // what the mailbox read last
  InboxReport report_;
  std::string lead_;  // whose inbox it was that we looked at
  std::string settle_detail_;
  Watched watched_;
  Contention contention_;
};

}  // namespace inbox_poller::poller

// Service of one team: a poll of its inboxes from the first scan to the last outgoing message, and the delivery of
// chat. The table in stages.cpp lists the stages of a poll.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "poller/cluster/cluster_member.hpp"
#include "poller/ledger/found_empty.hpp"
#include "poller/pause.hpp"
#include "poller/team/leadership_transfer.hpp"
#include "poller/team/remote_termination.hpp"
#include "poller/team/lead_boxes.hpp"
#include "poller/team/pace.hpp"
#include "poller/team/roster_keeper.hpp"
#include "poller/team/role_keeper.hpp"
#include "poller/team/team_parts.hpp"

namespace inbox_poller::poller {

class Team {
 public:
  Team(Runtime& services, const config::TeamConfig& config, const std::string& name);
  /// Uses these mailbox objects instead of the configured ones.
  Team(Runtime& services, const config::TeamConfig& config, std::string name, OpenTeam boxes);

  const EpochMs since_ms;  // begin of our service, wall clock

  /// Loads everything that was open before a restart. Errors: ledger.*.
  Status restore();

  enum class Polled { served, no_team };
  /// Runs one poll. `no_team` when the folder is not a team (any more).
  boost::asio::awaitable<Polled> poll();

  /// Pushes queued chat by the configured delivery methods while the gate is open.
  boost::asio::awaitable<void> deliver() { return parts_.delivery.push(); }

  /// Runs the next due program of the operator (approver.command, tasks.done_command) until `given_up` returns true. True when
  /// another may be due at once.
  boost::asio::awaitable<bool> jobs(std::function<bool()> given_up);

  // Timing of the next poll: pace.hpp. wake() also raises chat().
  boost::asio::awaitable<void> wait() { return pace_.wait(context_.config.team.poll_interval); }
  void wake();
  void notify() { pace_.notify(); }
  void set_watch(bool has_watch) { pace_.set_watch(has_watch); }

  /// Raised when there may be new chat for the lead, a job to run, or the team is retired. Deadlines do not raise it.
  Signal& chat() { return chat_; }

  /// True when chat for the lead or a job waits, so that something may become due by time alone.
  [[nodiscard]] bool something_waits();

  /// Queues a message of ours for a member's inbox in the ledger. The recipient must be a member.
  Result<schema::MessageKey> send(const std::string& to, const std::string& text, const std::string& summary,
                                  bool to_all = false);

  /// Makes a worker the owner of a task on the team's board and informs the worker. Returns the task as it was before.
  Result<schema::Task> assign(const std::string& task, const std::string& to, const std::string& by);

  /// Records a worker's state as reported by another source (a hook). Empty `task`: keep the known one. Ignored if
  /// `member` is not a worker of the team.
  Status heard_of(const std::string& member, handlers::WorkerReport state, const std::string& task);

  TeamState& context() { return context_; }
  Requests& requests() { return parts_.requests; }
  Delivery& delivery() { return parts_.delivery; }
  Shutdowns& shutdowns() { return parts_.shutdowns; }
  Orders& orders() { return parts_.orders; }
  WorkerHooks& worker_hooks() { return parts_.worker_hooks; }
  [[nodiscard]] const WorkerBoxes& worker_boxes() const { return parts_.worker_boxes; }
  [[nodiscard]] const Outbox& outbox() const { return parts_.outbox; }
  [[nodiscard]] const Maintenance& housekeeping() const { return parts_.housekeeping; }
  /// The team's task queue; null if its mailbox backend has none.
  [[nodiscard]] const TaskEvents* tasks() const { return boxes_.tasks.get(); }
  /// Its service between nodes; null if the team has one node.
  [[nodiscard]] ClusterMember* cluster() const { return cluster_.get(); }
  [[nodiscard]] const Watched& watched() const { return role_keeper_.watched(); }
  [[nodiscard]] const std::optional<LiveSession>& lead_session() const { return role_keeper_.lead_session(); }
  /// Restores the configured role after a competing consumer stopped us. From then on the present living lead is
  /// ignored.
  Status resume();

  /// Applies a new configuration with the same team, root, backend and lead.
  void reconfigure(const config::TeamConfig& config);
  /// Ends the service: leased messages are queued again and receivers are informed.
  void retire();
  [[nodiscard]] bool retired() const { return retired_; }

  [[nodiscard]] const InboxReport& inbox_report() const { return lead_boxes_.report(); }
  [[nodiscard]] const RosterReport& roster_report() const { return roster_.report(); }
  [[nodiscard]] std::string inbox_path() const { return mailbox().location(context_.lead); }
  [[nodiscard]] Contention contention() const { return mailbox().contention(); }

 private:
  /// Findings at the start of a poll.
  struct Round {
    LeadBoxes::Boxes boxes = std::span<const ReadyBox>();
    bool turn_ended = false;  // a worker's, so the lead's inboxes must be read
    bool rests = false;  // only the time has changed; results that depend on roster, inboxes and ledger still hold
  };
  struct Stage;
  struct Stages;
  static const Stage stages[];

  /// Reads the roster, updates our role and lists the inboxes. Returns a result if the poll ends here.
  std::optional<Polled> begin(Round&);

  [[nodiscard]] Mailbox& mailbox() const { return cluster_ ? cluster_->mailbox() : *boxes_.mailbox; }
  [[nodiscard]] RosterStore& members() const { return cluster_ ? cluster_->members() : *boxes_.members; }

  Runtime& services_;
  TeamState context_;
  OpenTeam boxes_;
  std::unique_ptr<ClusterMember> cluster_;  // null if the team has one node
  TeamParts parts_;
  RoleKeeper role_keeper_;
  RosterKeeper roster_;
  Signal chat_;
  LeadBoxes lead_boxes_;
  struct BetweenNodes {
    RemoteTermination ends;
    LeadershipTransfer handover;
  };
  std::unique_ptr<BetweenNodes> between_nodes_;  // null if the team has one node
  Pace pace_;
  long long changes_ = -1;     // change counter of the ledger when chat_ was last raised
  FoundEmpty no_chat_;         // of the queue
  bool retired_ = false;
};

}  // namespace inbox_poller::poller

// One team's service: a poll of its inboxes from the first look to the last effect, and the push of chat beside it. What
// a poll does, and in which order, is the table in stages.cpp.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "poller/hosts/cluster_member.hpp"
#include "poller/ledger/found_empty.hpp"
#include "poller/pause.hpp"
#include "poller/team/leadership_transfer.hpp"
#include "poller/team/remote_termination.hpp"
#include "poller/team/lead_boxes.hpp"
#include "poller/team/pace.hpp"
#include "poller/team/roster_keeper.hpp"
#include "poller/team/standing_keeper.hpp"
#include "poller/team/team_parts.hpp"

namespace inbox_poller::poller {

class Team {
 public:
  Team(Runtime& services, const config::TeamConfig& config, const std::string& name);
  /// With these boxes instead of those that the configuration names.
  Team(Runtime& services, const config::TeamConfig& config, std::string name, OpenTeam boxes);

  /// Picks up everything that was open before a restart.
  Status restore();

  enum class Polled { served, no_team };
  /// One poll. `no_team` when the folder is not a team (any more).
  boost::asio::awaitable<Polled> poll();

  /// Pushes queued chat to the configured sinks while the gate is open.
  boost::asio::awaitable<void> deliver() { return parts_.delivery.push(); }

  /// Runs the next program that is due beside the polls (person.notify, tasks.on_done), until `given_up`. True when another may be due
  /// at once.
  boost::asio::awaitable<bool> errands(std::function<bool()> given_up);

  // When the next poll begins: pace.hpp. A poke is also a word for whoever hands over chat.
  boost::asio::awaitable<void> wait() { return pace_.wait(context_.config.team.poll_interval); }
  void wake();
  void hint() { pace_.hint(); }
  void hears_changes(bool hears) { pace_.hears_changes(hears); }

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

  TeamState& context() { return context_; }
  Asks& asks() { return parts_.asks; }
  Delivery& delivery() { return parts_.delivery; }
  Shutdowns& shutdowns() { return parts_.shutdowns; }
  Orders& orders() { return parts_.orders; }
  WorkerCalls& worker_calls() { return parts_.worker_calls; }
  [[nodiscard]] const WorkerBoxes& worker_boxes() const { return parts_.worker_boxes; }
  [[nodiscard]] const Outbox& outbox() const { return parts_.outbox; }
  [[nodiscard]] const Maintenance& housekeeping() const { return parts_.housekeeping; }
  /// The team's task queue; null where its mailbox system has none.
  [[nodiscard]] const TaskEvents* tasks() const { return boxes_.tasks.get(); }
  /// Its service between hosts; null where the team has one host.
  [[nodiscard]] ClusterMember* hosts() const { return hosts_.get(); }
  [[nodiscard]] const Watched& watched() const { return standing_.watched(); }
  [[nodiscard]] const std::optional<LiveSession>& lead_session() const { return standing_.lead_session(); }
  /// Back to the configured role after a foreign consumer stopped us. A lead that lives is not heeded any more.
  Status resume();

  /// A new configuration for the same team, root, transport and lead: holds from now on.
  void reconfigure(const config::TeamConfig& config);
  /// Nobody serves the team any more: what was lent out is queued again, and receivers are told.
  void retire();
  [[nodiscard]] bool retired() const { return retired_; }

  [[nodiscard]] const InboxReport& inbox_report() const { return lead_boxes_.report(); }
  [[nodiscard]] const RosterReport& roster_report() const { return roster_.report(); }
  [[nodiscard]] std::string inbox_path() const { return mailbox().place_of(context_.lead); }
  [[nodiscard]] Contention contention() const { return mailbox().contention(); }

 private:
  /// What a poll found at its beginning.
  struct Look {
    LeadBoxes::Boxes boxes = std::span<const News>();
    bool rests = false;  // nothing has changed but the time: what is judged by roster, boxes and ledger stays as it was
  };
  struct Stage;
  struct Stages;
  static const Stage stages[];

  /// The roster and our standing, then the boxes. Why the poll ends here, if it does.
  std::optional<Polled> begin(Look&);

  [[nodiscard]] Mailbox& mailbox() const { return hosts_ ? hosts_->mailbox() : *boxes_.mailbox; }
  [[nodiscard]] RosterStore& members() const { return hosts_ ? hosts_->members() : *boxes_.members; }

  Runtime& services_;
  TeamState context_;
  OpenTeam boxes_;
  std::unique_ptr<ClusterMember> hosts_;  // null where the team has one host
  TeamParts parts_;
  StandingKeeper standing_;
  RosterKeeper roster_;
  Signal chat_;
  LeadBoxes lead_boxes_;
  struct BetweenHosts {
    RemoteTermination ends;
    LeadershipTransfer handover;
  };
  std::unique_ptr<BetweenHosts> between_hosts_;  // likewise
  Pace pace_;
  long long changes_ = -1;     // the ledger's, when we last raised chat_
  FoundEmpty no_chat_;         // in the queue
  bool retired_ = false;
};

}  // namespace inbox_poller::poller

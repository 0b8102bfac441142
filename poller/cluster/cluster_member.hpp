// Everything that one team with [cluster] needs on this node: mailbox, roster, lease, heartbeat and replication.
// Three coroutines run beside the team's polls; the poll itself calls carry(). Source: docs/adr/0042-nodes.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "poller/cluster/local_delivery.hpp"
#include "poller/cluster/replicator.hpp"
#include "poller/cluster/cluster_mailbox.hpp"
#include "poller/cluster/cluster_roster.hpp"
#include "schema/operations/cluster.hpp"

namespace inbox_poller::poller {

/// Membership of this node in one team. Decision thread only. `context` must outlive this object.
class ClusterMember {
 public:
  /// Without `broker`, no message leaves or reaches this node; `status` then shows `why_none` as the reason.
  ClusterMember(TeamState& context, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<RosterStore> members,
              std::unique_ptr<Broker> broker, std::string why_none);

  /// Loads epoch, removed members and undelivered rows from the ledger. Call before anything else. Errors: "ledger.*".
  Status restore();

  Mailbox& mailbox() { return mailbox_; }
  RosterStore& members() { return members_; }
  std::vector<std::string> lead_boxes() { return mailbox_.lead_boxes(); }
  /// Moves messages between local inboxes and the ledger. Call after the poll's ready_boxes().
  /// With `hold_lead`, messages for the lead stay in the lead's inbox.
  boost::asio::awaitable<void> carry(bool hold_lead) { return carrier_.run(mailbox_.here(), hold_lead); }
  /// True while a leader has not confirmed every message that this node sent to the lead, or the ledger cannot be read.
  [[nodiscard]] bool frames_to_lead_wait() const;

  /// Effective role of this node and, unless it leads, the reason as a sentence.
  [[nodiscard]] handlers::Membership membership() const;
  /// Returns "cluster.no_lease" while this node does not lead; a follower always may. The error is not a fault.
  [[nodiscard]] Status may_decide() const;
  /// Sets whether this node tries to lead. False resigns the lease at the next turn().
  void want_to_lead(bool wanted);
  /// Sets the shutdown orders and shutdown states that the next heartbeat carries, and sends it soon on a change.
  void tell_ends(std::vector<NodeEnd> orders, std::vector<NodeEnd> ends);
  /// Sets `work`, run once before this node leads after another node did. The work must drop requests that another
  /// leader may have answered meanwhile. An error prevents this node from leading.
  void before_leading(std::function<Status()> work) { before_leading_ = std::move(work); }
  /// Access to the open requests of this node. `open` lists them by kind (the type of the answer) and id.
  /// `answered` records that `node` answered one of them.
  struct KnownRequests {
    std::function<std::vector<std::pair<std::string, std::string>>()> open;
    std::function<Status(const std::string& kind, const std::string& id, const std::string& node)> answered;
  };
  void know_requests(KnownRequests requests) { requests_ = std::move(requests); }
  /// Queues a message from a local inbox for the leader node. Call in a transaction.
  /// Replication starts after the commit. `joined_ms`: join time of the sender; 0: unknown. Errors: "ledger.*".
  Status hand_over(const MessageRow&, EpochMs joined_ms, Tx&);
  /// Sets the predicate that allows delivery of an incoming row to a local inbox. Each poll asks it again.
  void file_when(std::function<bool(const NodeMailRow&)> may) { state_.may_file = std::move(may); }
  /// Sets the callback that requests a poll soon: something arrived, or the leader changed.
  void subscribe(std::function<void()> wake);

  /// Runs the due step of the lease and, every 3 s or after a change, one exchange of heartbeats.
  boost::asio::awaitable<void> turn();
  // The three loops run beside the polls until `given_up` returns true. Call wake() so that they check it at once.
  boost::asio::awaitable<void> keep_lease(std::function<bool()> given_up);
  boost::asio::awaitable<void> send(std::function<bool()> given_up);
  boost::asio::awaitable<void> receive(std::function<bool()> given_up);
  void wake();

  [[nodiscard]] const NodeState& state() const { return state_; }
  /// View that `status` and `inbox-poller nodes` show.
  [[nodiscard]] operations::Cluster told() const;

 private:
  boost::asio::awaitable<void> step_lease();
  boost::asio::awaitable<void> beat();
  void took(std::chrono::nanoseconds);
  /// Median round trip to the broker over the last five heartbeats; 0 before the first.
  [[nodiscard]] std::chrono::microseconds round_trip() const;
  void take_beats(std::vector<Heartbeat> beats);
  void leads(const LeaderLease& lease);
  [[nodiscard]] bool wants_to_lead() const;
  /// Prepares leadership: fetches answers of earlier leaders and commits `epoch`. True when this node may lead.
  boost::asio::awaitable<bool> begin_to_lead(std::int64_t epoch);

  NodeState state_;
  std::shared_ptr<Mailbox> local_mailbox_;
  std::shared_ptr<RosterStore> local_members_;
  std::unique_ptr<Broker> broker_;
  ClusterMailbox mailbox_;
  ClusterRoster members_;
  LocalDelivery carrier_;
  std::unique_ptr<Replicator> replicator_;
  bool wanted_ = true;
  handlers::Moment beaten_{-handlers::lease_lasts};
  std::uint64_t told_roster_ = 0;  // sum of roster version and `telling` at the last heartbeat
  std::vector<std::chrono::microseconds> round_trips_;  // of the last heartbeats, oldest first
  handlers::Moment pruned_{0};
  Signal turn_;  // wakes keep_lease(), and send() and receive() from a back-off
  std::function<void()> wake_ = [] {};
  std::function<Status()> before_leading_ = [] { return Status(Done{}); };
  KnownRequests requests_;
};

}  // namespace inbox_poller::poller

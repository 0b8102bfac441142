// State that the parts of a team's replication share: lease, leader, last heartbeats, problems with the broker.
// Everything here lives on the daemon's decision thread.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "handlers/nodes.hpp"
#include "handlers/lease.hpp"
#include "poller/context/team_state.hpp"
#include "poller/broker/broker.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {

/// Shutdown of one worker between nodes: an order of the leader, or the progress that the worker's node reports.
struct NodeEnd {
  std::string request_id;
  std::string member;
  std::string state;   // order: requested, approved, forced; report: a handlers::ShutdownState, or empty (not taken)
  std::string by;      // order: name of the requester
  std::string reason;  // order: text for the worker
  std::string tasks;   // report: tasks released on the worker's node
  std::string detail;  // report: one sentence about anything kept, or any obstacle
  long long joined_ms = 0;  // order: the worker's join time, by the clock of its node; 0: unknown
  bool operator==(const NodeEnd&) const = default;
};
/// Members removed from the team: name, and the join time that the member's node reported (ms, Unix epoch).
using Removed = std::map<std::string, long long>;

/// Last heartbeat of one node, decoded.
struct SeenHost {
  std::string version;
  bool leads = false;
  long long queued = 0;     // messages that this node has not put, or that no receipt confirms
  EpochMs oldest_ms = 0;    // wall clock of that node when the oldest of them was accepted; 0: none
  std::map<std::string, schema::Member> members;  // members that live there, as its roster has them
  std::int64_t epoch = 0;       // with `leads`: epoch of its lease
  std::vector<NodeEnd> orders;  // with `leads`: workers of other nodes to be shut down
  Removed removed;              // with `leads`: members removed from the team
  std::vector<NodeEnd> ends;    // progress of the orders for its own workers
  EpochMs told_ms = 0;   // wall clock of that node when it sent the heartbeat: tells a new one from one read before
  EpochMs heard_ms = 0;  // wall clock of this node when it first read the heartbeat
};

/// Row updates that wait for the next transaction on `node_mail`, at the latest the one of a heartbeat.
/// A crash loses them, so the same step happens again; repeating it changes nothing.
struct PendingReceipts {
  std::set<long long> there;     // rows for the lead that are in the journal
  std::vector<long long> told;   // receipt was reported to the sender
  std::vector<long long> ended;  // final state was reported to the sender
};

/// Shared replication state of one team. `the_context` must outlive this object. Decision thread only.
class NodeState {
 public:
  explicit NodeState(TeamState& the_context) : context(the_context), settings(the_context.config.cluster) {}

  TeamState& context;
  const config::ClusterSettings settings;
  handlers::Lease lease;
  std::string leader;             // leader node as of the last answer of the broker; empty: none
  std::int64_t epoch = 0;         // highest known epoch
  std::int64_t leader_epoch = 0;  // of the leader; lower than `epoch` if the broker lost its data since
  std::map<std::string, SeenHost> seen;
  std::uint64_t roster_version = 0;  // grows when the reported members of other nodes change
  std::string trouble;               // problem with the broker, one sentence; empty: none
  EpochMs trouble_ms = 0;            // wall clock, start of the problem
  std::string full;                  // reason why messages stay in their inbox; empty: they do not
  Signal work;                       // raised when there is something to put
  Signal went;                       // raised when a put ended, with or without success
  std::vector<NodeEnd> orders;       // of this node, for workers elsewhere, while it leads
  std::vector<NodeEnd> ends;         // of this node, progress of received orders
  Removed removed;                   // as the ledger of this node has it
  std::uint64_t telling = 0;         // grows when one of the three above changes
  PendingReceipts receipts;
  std::set<long long> under_way;     // rows in a pending put; recall() skips them
  /// Predicate that delays delivery of an incoming row to a local inbox while it returns false.
  std::function<bool(const NodeMailRow&)> may_file = [](const NodeMailRow&) { return true; };
  std::function<void()> wake = [] {};  // requests a poll soon

  /// Runs `work` in one transaction, after writing the pending receipts. Commits as a fact, so the lease is not needed.
  /// Errors: "ledger.*", and any error of `work`; the pending receipts are then kept.
  Status commit(const Work& work);
  /// Writes the pending receipts in a transaction of their own. Errors: "ledger.*".
  Status write_receipts() { return commit([](Tx&) {}); }
  /// Time on the lease's clock: Clock::wall_ms(), which never jumps and counts while the machine sleeps.
  [[nodiscard]] handlers::Moment now() const { return handlers::Moment(context.clock.wall_ms()); }
  /// True while this node holds the lease and may still decide under it.
  [[nodiscard]] bool leading() const { return handlers::may_decide(lease, now()); }
  [[nodiscard]] bool is_elsewhere(std::string_view member) const {
    return handlers::is_elsewhere(settings, member, context.lead, leading());
  }
  /// Address of the stream for this member: its node's, or `lead_address` for the lead.
  [[nodiscard]] std::string stream_for(std::string_view member) const {
    const auto node = handlers::host_for(settings, member, context.lead);
    return node.empty() ? std::string(lead_address) : node_address(node);
  }
  /// True if this member was removed and has not joined again since. `joined_ms`: clock of the member's node, which may
  /// have been set back; 0: not told.
  [[nodiscard]] bool is_removed(const std::string& member, long long joined_ms) const {
    const auto found = removed.find(member);
    return found != removed.end() && (joined_ms == found->second || joined_ms == 0);
  }
  /// Last heartbeat of the current leader. Null if this node leads, no node leads, the leader may not lead, or its
  /// heartbeat has another epoch. Valid until the next heartbeat is read.
  [[nodiscard]] const SeenHost* who_leads() const;
  /// Replaces the shutdown orders and reports; grows `telling` on a change.
  void tell_ends(std::vector<NodeEnd> the_orders, std::vector<NodeEnd> the_ends);
  /// Reports a problem with the broker, once for each sentence. An empty text reports that the broker works.
  void tell_trouble(const std::string& now_wrong);
  /// Reports `problem`, prefixed with the broker's name unless the message contains it.
  void tell_trouble(const Error& problem, const std::string& broker) {
    tell_trouble(problem.message.find(broker) == std::string::npos ? broker + ": " + problem.message : problem.message);
  }
  /// Drops the lease, because the broker knows epoch `by` of another leader. Requests a poll.
  void fenced(std::int64_t by);
};

}  // namespace inbox_poller::poller

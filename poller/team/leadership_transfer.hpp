// Hands over unfinished messages for the lead after this node has lost leadership. Messages of its own workers are sent
// to the leading node like any other mail. Other nodes send their messages there themselves. Source:
// docs/adr/0042-nodes.md.
#pragma once

#include "poller/cluster/cluster_member.hpp"
#include "poller/team/requests.hpp"

namespace inbox_poller::poller {

class LeadershipTransfer {
 public:
  LeadershipTransfer(TeamState& context, ClusterMember& nodes, Requests& requests);

  /// Hands messages over while another node leads. Call at each poll.
  void run_due();
  /// True while chat of this node's workers waits to be handed over, or may have to be because the lead was offered it.
  /// Newer messages must not overtake it. True also on ledger.*.
  [[nodiscard]] bool owes_chat() const;

 private:
  Status hand_over();
  /// Gives up orders that this node has not sent. Sent when it leads again, they would come late.
  Status give_up_orders(Tx& tx);
  Status hand_over_chat(Tx& tx);
  Status hand_over_requests(Tx& tx);
  [[nodiscard]] bool is_ours(const std::string& member) const;

  TeamState& context_;
  ClusterMember& cluster_;
  Requests& requests_;
  std::string to_;       // leader and epoch for which everything was handed over
  std::int64_t epoch_ = 0;
  long long left_ = 0;   // queued messages that stay here: the daemon's own, and those that wait
  std::size_t offered_ = 0;  // messages at the lead then
};

}  // namespace inbox_poller::poller

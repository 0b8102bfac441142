// A host that led and does not any more: what it had taken for the lead and not settled goes to the host that leads. What
// came from other hosts they send there themselves; what its own workers wrote is put on the way like any mail of theirs.
// Source: docs/adr/0044-hosts.md.
#pragma once

#include "poller/hosts/cluster_member.hpp"
#include "poller/team/asks.hpp"

namespace inbox_poller::poller {

class LeadershipTransfer {
 public:
  LeadershipTransfer(TeamState& context, ClusterMember& hosts, Asks& asks);

  /// To be called at each poll; does something while another host leads.
  void run_due();
  /// Chat of this host's workers waits here to be handed over: what they write now would overtake it.
  [[nodiscard]] bool owes_chat() const;

 private:
  Status hand_over();
  Status hand_over_chat(Tx& tx);
  Status hand_over_asks(Tx& tx);
  [[nodiscard]] bool is_ours(const std::string& member) const;

  TeamState& context_;
  ClusterMember& hosts_;
  Asks& asks_;
  std::string to_;       // who led when all was handed over, and under which epoch
  std::int64_t epoch_ = 0;
  long long left_ = 0;   // words of our own, which wait here
};

}  // namespace inbox_poller::poller

// Ends workers of a team on several nodes. The leading node asks the worker and orders its end. The worker's node
// records the worker's processes, ends them and reports its progress. Both repeat everything with every heartbeat, so
// nothing gets lost. Source: docs/adr/0047-ends-on-other-nodes.md.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "poller/cluster/cluster_member.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class RemoteTermination {
 public:
  RemoteTermination(TeamState& context, ClusterMember& nodes, Shutdowns& shutdowns);

  /// Applies received orders and reports, and publishes the present state. Call once a tick, before messages are
  /// written into inboxes here.
  boost::asio::awaitable<void> run_due();

 private:
  boost::asio::awaitable<void> record_before_filing();
  boost::asio::awaitable<NodeEnd> obey(NodeEnd order);
  bool record_over(const NodeEnd& order, const std::string& why);
  [[nodiscard]] std::vector<NodeEnd> orders() const;
  [[nodiscard]] std::optional<Shutdowns::Elsewhere> told_of(const handlers::Shutdown&) const;

  TeamState& context_;
  ClusterMember& cluster_;
  Shutdowns& shutdowns_;
};

}  // namespace inbox_poller::poller

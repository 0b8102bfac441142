// Ends of workers in a team on several hosts: the host that leads asks and says who is to end, the host where a worker
// lives records where, ends it, and tells how far it is. Both tell all of it again with every beat, so nothing of it can
// get lost. Source: docs/adr/0050-ends-on-other-hosts.md.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "poller/hosts/cluster_member.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class RemoteTermination {
 public:
  RemoteTermination(TeamState& context, ClusterMember& hosts, Shutdowns& shutdowns);

  /// Takes up what arrived and tells what is so. Call once a tick, before mail is put into boxes here.
  boost::asio::awaitable<void> run_due();

 private:
  boost::asio::awaitable<void> record_before_filing();
  boost::asio::awaitable<HostEnd> obey(HostEnd order);
  [[nodiscard]] std::vector<HostEnd> orders() const;
  [[nodiscard]] bool is_elsewhere(const std::string& member) const;
  [[nodiscard]] std::optional<Shutdowns::Elsewhere> told_of(const handlers::Shutdown&) const;

  TeamState& context_;
  ClusterMember& hosts_;
  Shutdowns& shutdowns_;
};

}  // namespace inbox_poller::poller

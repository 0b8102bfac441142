// Determines our role in the team, and if we alone consume the lead's inbox. Other consumers, the lead's living client,
// other nodes and a person change it. The rules are in handlers/other_consumer.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/client_sessions.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/cluster/cluster_member.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/requests.hpp"

namespace inbox_poller::poller {

/// Activity of another consumer in the lead's inbox since the start of the observation.
struct Watched {
  std::uint64_t consumed = 0;
  std::uint64_t waiting = 0;
  EpochMs oldest_waiting_ms = 0;  // wall clock; when the oldest waiting one was first seen; 0: none waits
  EpochMs longest_ms = 0;         // longest wait of one
};

class RoleKeeper {
 public:
  /// `nodes` is null if the team has one node.
  RoleKeeper(TeamState& context, const Mailbox& mailbox, ClusterMember* nodes, const Requests& requests,
                 Delivery& delivery, FileSystem& files, Processes& processes);

  /// Evaluates the changes that the lead or another consumer made in the lead's inbox since the last scan.
  void observe_consumers(const Batch&);
  /// Handles a missing inbox of the lead.
  void check_lead_inbox();
  /// Yields to a living client that leads the team according to the roster, because it reads the lead's inbox itself.
  void check_lead_process();
  /// Yields to a living client that created the team according to its session file. Also follows the turns in that
  /// file.
  void check_lead_session();
  /// Follows the leadership of this node. `retired`: the team is not served any more.
  void follow_lease(bool retired);
  /// Restores the configured role after another consumer stopped us. From then on the present living lead is ignored.
  /// Errors: ledger.*.
  Status resume();
  /// Makes the next check evaluate living clients again, because the configuration has changed.
  void forget_claim() { claim_.clear(); }

  /// True when no other reader of the lead's inbox was seen.
  [[nodiscard]] bool is_alone() const;
  [[nodiscard]] const Watched& watched() const { return watched_; }
  /// The living session of the lead, according to its client's session file; empty when unknown.
  [[nodiscard]] const std::optional<LiveSession>& lead_session() const { return session_.live(); }

  /// Number of times that a role was set, including the same one. The lead's inbox is then read even if it is
  /// unchanged.
  [[nodiscard]] std::uint64_t times_set() const { return times_set_; }
  /// Number of changes of our access to the lead's inbox. After a change, unread messages are read again.
  [[nodiscard]] std::uint64_t times_changed() const { return times_changed_; }

 private:
  void competing_consumer(std::string code, std::size_t count);
  /// Applies the configured reaction to another consumer of the lead's inbox.
  void give_way(const std::string& reason);
  /// Yields to a living client that leads the team and hence reads the lead's inbox. `who` begins the logged sentence
  /// and names the evidence.
  void give_way_to_lead(std::string_view code, const std::string& who);
  void change_role(handlers::Membership);
  /// True when a person accepted that we lead beside this client.
  [[nodiscard]] bool is_accepted(const std::string& claim) const;
  [[nodiscard]] std::string inbox_path() const { return mailbox_.location(context_.lead); }

  TeamState& context_;
  const Mailbox& mailbox_;
  ClusterMember* cluster_;
  const Requests& requests_;
  Delivery& delivery_;
  Processes& processes_;
  SessionWatch session_;
  std::string claim_;  // client of a lead that we yielded to
  std::vector<SteadyTime> signs_;
  Watched watched_;
  std::uint64_t times_set_ = 0;
  std::uint64_t times_changed_ = 0;
};

}  // namespace inbox_poller::poller

// Roster of a team on several nodes: the local roster merged with the members that other nodes report.
// A remote pane, process, session or worktree has no meaning on this node, so those fields are cleared.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "poller/cluster/node_state.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// Parses the members in a heartbeat of `node`. Skips invalid entries and members that do not live on that node.
/// Accepts the lead only from a node that may lead, and at most 1,000 members.
std::map<std::string, schema::Member> told_members(const config::ClusterSettings&, const std::string& node,
                                                   const boost::json::array& told, const std::string& lead);

/// RosterStore of one team on this node. `state` and `local` must outlive this object. Decision thread only.
class ClusterRoster final : public RosterStore {
 public:
  ClusterRoster(NodeState& state, RosterStore& local) : state_(state), local_(local) {}

  /// Adds missing remote members to the local roster file, so that clients find their names.
  void mirror();
  /// Removes members that the leader node removed. Skips local members and the lead. Skips the whole list if the node
  /// would then remember more than 10,000 names.
  void take_out(const Removed&);
  /// Local members as the local roster has them, for the heartbeat; at most 1,000.
  [[nodiscard]] boost::json::array own_members() const;
  /// Version counter; grows when own_members() may have changed.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return local_.roster_copy(); }
  void remember_roster(RosterCopy copy) override { local_.remember_roster(std::move(copy)); }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override { return local_.mend_roster(without); }
  WriteReceipt remove_member(const std::string& name) override;
  WriteReceipt add_member(const std::string& name, const std::string& entry) override { return local_.add_member(name, entry); }

 private:
  Status remember(const Removed&);

  NodeState& state_;
  RosterStore& local_;
  std::uint64_t version_ = 0;
  std::string told_as_;         // bytes of the local roster when `version_` last grew
  std::uint64_t read_ = 0;      // `roster_version` of the state at the last roster()
  std::vector<schema::Member> here_;  // local members, as the local roster has them
  bool leads_ = false;
};

}  // namespace inbox_poller::poller

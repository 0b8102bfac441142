// Who is in a team that is spread over hosts: this host's roster, with what the other hosts tell of those who live there.
// A pane or a process of another host is none here, so what names one is left out.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "poller/hosts/host_state.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// What a host tells of its members, as it is read: whose host they are not, and what is no member, is left out.
std::map<std::string, schema::Member> told_members(const config::HostsSettings&, const std::string& host,
                                                   const boost::json::array& told, const std::string& lead);

class ClusterRoster final : public RosterStore {
 public:
  ClusterRoster(HostState& state, RosterStore& local) : state_(state), local_(local) {}

  /// Puts into this host's roster who is missing there, so that clients find their names.
  void mirror();
  /// These were taken out of the team by who leads it; who lives here is not taken out like this.
  void take_out(const Removed&);
  /// Who lives here, as this host's roster has them, to be told to others.
  [[nodiscard]] boost::json::array own_members() const;
  /// Grows when that may have changed.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  bool roster_changed() override;
  Result<schema::Roster> roster() override;
  [[nodiscard]] const RosterCopy& roster_copy() const override { return local_.roster_copy(); }
  void remember_roster(RosterCopy copy) override { local_.remember_roster(std::move(copy)); }
  [[nodiscard]] bool roster_is_lost() const override { return local_.roster_is_lost(); }
  WriteReceipt mend_roster(const std::vector<std::string>& without) override { return local_.mend_roster(without); }
  WriteReceipt remove_member(const std::string& name) override;
  WriteReceipt add_member(const std::string& name, const std::string& entry) override { return local_.add_member(name, entry); }
  TasksReleased release_tasks(const std::string& name, const std::string& agent_id) override {
    return local_.release_tasks(name, agent_id);
  }
  TaskAssigned assign_task(const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there) override {
    return local_.assign_task(task, name, is_there);
  }

 private:
  Status remember(const Removed&);

  HostState& state_;
  RosterStore& local_;
  std::uint64_t version_ = 0;
  std::string told_as_;         // this host's roster, when the version grew last
  std::uint64_t read_ = 0;      // what others told, when roster() last said it
  std::vector<schema::Member> here_;  // as this host's roster has them
  bool leads_ = false;
};

}  // namespace inbox_poller::poller

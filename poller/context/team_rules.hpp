// The rules in force for a team: its configured ones, and those that persons added for the lead's present session.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.hpp"
#include "poller/ledger/members.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

class TeamRules {
 public:
  /// Keeps references to both, which must outlive the object. Call rebuild() after a change of either.
  TeamRules(const config::TeamConfig& config, const schema::Roster& roster) : config_(config), roster_(roster) {
    rebuild();
  }

  /// Loads the session rules of all sessions.
  void restore(std::vector<SessionRule> all);
  void rebuild();

  /// True when the session already has this rule.
  [[nodiscard]] bool has(const SessionRule&) const;
  /// Adds or ends a rule; call after the commit.
  void apply(SessionRule);
  void drop(long long id);
  /// Rules of the lead's present session.
  [[nodiscard]] std::vector<SessionRule> of_session() const;
  /// Version counter; grows when the rules in force change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  [[nodiscard]] const config::PermissionRules& permissions() const { return permissions_; }
  [[nodiscard]] const config::HostRules& hosts() const { return hosts_; }

 private:
  const config::TeamConfig& config_;
  const schema::Roster& roster_;
  std::vector<SessionRule> all_;
  config::PermissionRules permissions_;
  config::HostRules hosts_;
  std::uint64_t version_ = 0;
};

}  // namespace inbox_poller::poller

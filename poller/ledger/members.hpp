// Present and former members of a team, and the rules that a person gave for one session of its lead.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Members of teams, each with its last status. Errors: "ledger.*".
class MemberTable {
 public:
  explicit MemberTable(Database& database) : database_(database) {}

  Status put(const MemberRow&);
  Result<std::vector<MemberRow>> of_team(std::string_view team);

 private:
  Database& database_;
};

/// Rules that a person gave for one session of the lead. Errors: "ledger.*".
class RuleTable {
 public:
  explicit RuleTable(Database& database) : database_(database) {}

  /// Adds a rule. Returns its id, or the id of the same rule of this session.
  Result<long long> add(const SessionRule&);
  Status remove(long long id);
  Result<std::vector<SessionRule>> of_team(std::string_view team);  // of all its sessions

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

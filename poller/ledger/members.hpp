// Who is or was in a team, and the rules that a person gave for a session of its lead.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// The members of teams, and what each said last.
class MemberTable {
 public:
  explicit MemberTable(Database& database) : database_(database) {}

  Status put(const MemberRow&);
  Result<std::vector<MemberRow>> of_team(std::string_view team);

 private:
  Database& database_;
};

/// Rules that a person gave for one session of the lead.
class RuleTable {
 public:
  explicit RuleTable(Database& database) : database_(database) {}

  /// Its id; that of the one that is there when the session has it already.
  Result<long long> add(const SessionRule&);
  Status remove(long long id);
  Result<std::vector<SessionRule>> of_team(std::string_view team);  // of all its sessions

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

// The state of each team's lead, and the last complete roster of each team.
#pragma once

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// State of each team's lead: idle, busy or offline. Errors: "ledger.*".
class LeadTable {
 public:
  explicit LeadTable(Database& database) : database_(database) {}

  Status put(std::string_view team, const LeadRow&);
  Result<std::optional<LeadRow>> find(std::string_view team);

 private:
  Database& database_;
};

/// Last complete roster of each team, because old clients may leave the file empty at their end. Errors: "ledger.*".
class RosterTable {
 public:
  explicit RosterTable(Database& database) : database_(database) {}

  Status put(std::string_view team, const RosterRow&);
  Result<std::optional<RosterRow>> find(std::string_view team);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

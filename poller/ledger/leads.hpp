// What is known of each team's lead, and its roster as it was last seen whole.
#pragma once

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// The lead of each team: idle, busy or gone.
class LeadTable {
 public:
  explicit LeadTable(Database& database) : database_(database) {}

  Status put(std::string_view team, const LeadRow&);
  Result<std::optional<LeadRow>> find(std::string_view team);

 private:
  Database& database_;
};

/// The last good roster of each team. Old clients may leave the file empty as they end.
class RosterTable {
 public:
  explicit RosterTable(Database& database) : database_(database) {}

  Status put(std::string_view team, const RosterRow&);
  Result<std::optional<RosterRow>> find(std::string_view team);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

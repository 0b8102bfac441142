// Approval requests: one row for each (team, kind, worker, request id). A state only moves forward.
#pragma once

#include "handlers/handler.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Approval requests of workers, with their decisions. Errors of all functions: "ledger.*".
class RequestTable {
 public:
  explicit RequestTable(Database& database) : database_(database) {}

  Result<std::optional<handlers::Request>> find(std::string_view team, const handlers::RequestName&);
  /// Lists the requests with this id, of all teams, kinds and workers, because a person names only the id.
  Result<std::vector<std::pair<std::string, handlers::Request>>> by_id(std::string_view id);
  /// Inserts the request, or updates the recorded one. Error "ledger.final": no handlers::transition leads from the
  /// recorded state to the new one, or the content differs.
  Status put(std::string_view team, const handlers::Request&);
  /// Lists requests decided at or after `since_ms`, the last decision first. An empty `team` means all teams.
  Result<std::vector<std::pair<std::string, handlers::Request>>> decisions(std::string_view team, EpochMs since_ms,
                                                                           int limit);
  Result<std::vector<handlers::Request>> open(std::string_view team);
  Result<std::uint32_t> open_count(std::string_view team, std::string_view asker);
  Result<std::uint32_t> plan_count(std::string_view team, std::string_view asker, std::string_view content_hash);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

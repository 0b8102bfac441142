// Asks: each (team, kind, asker, request id) once, moving forward only.
#pragma once

#include "handlers/handler.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// What workers asked, and what became of it.
class AskTable {
 public:
  explicit AskTable(Database& database) : database_(database) {}

  Result<std::optional<handlers::Ask>> find(std::string_view team, const handlers::AskName&);
  /// Of any kind and worker: a person names only the id. More than one: all are returned.
  Result<std::vector<std::pair<std::string, handlers::Ask>>> by_id(std::string_view id);
  /// Inserts, or moves the ask on. "ledger.final" when handlers::transition knows no way from the recorded state to the
  /// new one, or when the content is not the one recorded: a decision is made once.
  Status put(std::string_view team, const handlers::Ask&);
  /// Decided asks, the last decision first; of all teams with an empty name.
  Result<std::vector<std::pair<std::string, handlers::Ask>>> decisions(std::string_view team, EpochMs since_ms,
                                                                           int limit);
  Result<std::vector<handlers::Ask>> open(std::string_view team);
  Result<std::uint32_t> open_count(std::string_view team, std::string_view asker);
  Result<std::uint32_t> plan_count(std::string_view team, std::string_view asker, std::string_view content_hash);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

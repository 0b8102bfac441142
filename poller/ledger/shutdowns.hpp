// What the lead's side began by itself: shutdowns, and orders (modes and rules that a worker was sent).
#pragma once

#include "handlers/shutdown.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Workers that were asked to end.
class ShutdownTable {
 public:
  explicit ShutdownTable(Database& database) : database_(database) {}

  /// Inserts, or moves it on. "ledger.final" when handlers::transition knows no way from the recorded state to the new
  /// one, or when it is about another worker or place than recorded: what may be closed or signalled was settled when
  /// we asked. The same state is no move and only brings the other columns up to date.
  Status put(std::string_view team, const handlers::Shutdown&);
  Result<std::optional<handlers::Shutdown>> find(std::string_view team, std::string_view request_id);
  /// Those that are still open (handlers::is_open), oldest first.
  Result<std::vector<handlers::Shutdown>> open(std::string_view team);
  /// The newest ones, open or not.
  Result<std::vector<handlers::Shutdown>> latest(std::string_view team, int limit);
  /// Those with this id, each with its team.
  Result<std::vector<std::pair<std::string, handlers::Shutdown>>> by_id(std::string_view request_id);

 private:
  Database& database_;
};

/// Modes and rules that workers were sent, once each.
class OrderTable {
 public:
  explicit OrderTable(Database& database) : database_(database) {}

  /// Its id; nothing when the member already had one of this kind and origin.
  Result<std::optional<long long>> add(const OrderRow&);
  Status set(long long id, std::string_view state, EpochMs at_ms);
  Result<std::vector<OrderRow>> of_team(std::string_view team);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

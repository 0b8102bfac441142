// Actions that the lead's side began: shutdowns, and orders (modes and rules that were sent to a worker).
#pragma once

#include "handlers/shutdown.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Shutdowns of workers, with their state and processes. Errors: "ledger.*".
class ShutdownTable {
 public:
  explicit ShutdownTable(Database& database) : database_(database) {}

  /// Inserts a shutdown, or updates the recorded one; the state may stay. Error "ledger.final": no handlers::transition
  /// leads to the new state, or worker or place differ from the record. The first request fixes the processes and panes
  /// that may be ended. Error "ledger.sql": a process cannot be written.
  Status put(std::string_view team, const handlers::Shutdown&);
  Result<std::optional<handlers::Shutdown>> find(std::string_view team, std::string_view request_id);
  /// True for a shutdown that has ended, one way or another. An unknown id names none.
  Result<bool> is_over(std::string_view team, std::string_view request_id);
  /// Lists the open shutdowns (handlers::is_open), oldest first.
  Result<std::vector<handlers::Shutdown>> open(std::string_view team);
  /// Lists the latest shutdowns, open or not, newest first.
  Result<std::vector<handlers::Shutdown>> latest(std::string_view team, int limit);
  /// Lists the shutdowns with this id, each with its team.
  Result<std::vector<std::pair<std::string, handlers::Shutdown>>> by_id(std::string_view request_id);

 private:
  Database& database_;
};

/// Modes and rules that were sent to workers, each once. Errors: "ledger.*".
class OrderTable {
 public:
  explicit OrderTable(Database& database) : database_(database) {}

  /// Adds an order. Returns its id; nullopt if the member has an order of this kind and origin.
  Result<std::optional<long long>> add(const OrderRow&);
  Status set(long long id, handlers::OrderState state, EpochMs at_ms);
  Result<std::vector<OrderRow>> of_team(std::string_view team);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

// The outbox: what we owe to others, in words that were fixed when it was decided.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Entries for the inboxes of others, until their owners have consumed them.
class OutboxTable {
 public:
  explicit OutboxTable(Database& database) : database_(database) {}

  /// A reply that could not be written is tried again after this; more would be felt once the fault is over.
  static constexpr EpochMs retry_after_ms = 1000;

  Status enqueue(const OutboxRow&);
  /// Rows in state pending whose time has come, oldest first; at most one row per inbox, so that replies keep their
  /// order.
  Result<std::vector<OutboxRow>> due(std::string_view team, EpochMs now, int limit);
  /// What is pending for the same inbox behind this row, in order, whenever its time comes: it waits for this one.
  Result<std::vector<OutboxRow>> behind(const OutboxRow&, int limit);
  Result<std::vector<OutboxRow>> of_request(std::string_view team, std::string_view request_id);
  /// Those of them in one inbox: an id is a worker's own.
  Result<std::vector<OutboxRow>> of_request(std::string_view team, std::string_view inbox, std::string_view request_id);
  /// Rows whose key starts with `prefix` (for `trace`), at most `limit`.
  Result<std::vector<OutboxRow>> like(std::string_view prefix, int limit);
  /// Rows written but not yet verified (used at start).
  Result<std::vector<OutboxRow>> written(std::string_view team);
  Status set(long long id, EffectState, int attempts, EpochMs next_ms, std::string_view problem);
  /// Puts those of the rows that were written, finished or given up back to pending, owed from now: the same ask came
  /// again and gets the same bytes again. Rows still pending keep their place and their moment.
  Status resend(std::vector<OutboxRow> rows, EpochMs now);
  Result<long long> owed(std::string_view team);  // pending rows

  /// True when the entry with this key was written by us (or is about to be).
  Result<bool> wrote(const schema::MessageKey&);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

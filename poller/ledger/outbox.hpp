// The outbox: replies and outgoing messages to workers, with a text that was fixed at the decision.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Entries for the workers' inboxes, kept until the workers have consumed them. Errors: "ledger.*".
class OutboxTable {
 public:
  explicit OutboxTable(Database& database) : database_(database) {}

  /// Delay of the next attempt to write a reply. A longer delay would be noticed after the end of the fault.
  static constexpr EpochMs retry_after_ms = 1000;

  Status enqueue(const OutboxRow&);
  /// Lists due pending rows, oldest first; at most one for each inbox, so that replies keep their order.
  Result<std::vector<OutboxRow>> due(std::string_view team, EpochMs now, int limit);
  /// Lists the pending rows of the same inbox after this row, in order, whether due or not, because they wait for it.
  Result<std::vector<OutboxRow>> behind(const OutboxRow&, int limit);
  Result<std::vector<OutboxRow>> of_request(std::string_view team, std::string_view request_id);
  /// Lists the rows of one inbox only, because two workers may use the same id.
  Result<std::vector<OutboxRow>> of_request(std::string_view team, std::string_view inbox, std::string_view request_id);
  /// Lists rows whose key begins with `prefix`, for `trace`.
  Result<std::vector<OutboxRow>> like(std::string_view prefix, int limit);
  /// Lists rows that were written and not verified yet.
  Result<std::vector<OutboxRow>> written(std::string_view team);
  Status set(long long id, EffectState, int attempts, EpochMs next_ms, std::string_view problem);
  /// Makes written, done and dead rows pending from now, because the same request came again and gets the same bytes.
  /// Pending rows keep their time.
  Status resend(std::vector<OutboxRow> rows, EpochMs now);
  Result<long long> owed(std::string_view team);  // pending rows

  /// Returns true if the outbox has a row with this key, so that the entry is the daemon's own.
  Result<bool> wrote(const schema::MessageKey&);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

// Accepted messages, each recognized by its key.
#pragma once

#include "poller/ledger/deliveries.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// All messages and bad entries that were processed and are not pruned yet. Errors: "ledger.*".
class MessageTable {
 public:
  MessageTable(Database& database, DeliveryTable& deliveries) : database_(database), deliveries_(deliveries) {}

  Result<bool> known(const schema::MessageKey&);
  /// Inserts a message, and its delivery if it is for the lead. Returns its id. Fails if the key is known.
  Result<long long> insert(const MessageRow&, DeliveryTable::Queued = DeliveryTable::Queued::now);
  Result<std::optional<MessageRow>> find(const schema::MessageKey&);
  /// Lists messages whose key begins with `prefix`, for `trace`.
  Result<std::vector<MessageRow>> like(std::string_view prefix, int limit);
  /// Conditions that the rows of latest() fulfill.
  struct Wanted {
    std::string team, sender, type;  // empty: any
    EpochMs since_ms = 0;
  };
  /// Lists the newest matching messages, oldest first.
  Result<std::vector<MessageRow>> latest(const Wanted&, int limit);
  /// Finds the newest message of this type and sender about an approval request or a shutdown.
  Result<std::optional<MessageRow>> about(std::string_view team, std::string_view sender, std::string_view request_id,
                                           std::string_view type);
  /// Lists refused and bad entries, newest first. An empty `team` means all teams.
  Result<std::vector<MessageRow>> quarantined(std::string_view team, int limit);
  Result<long long> quarantined_count(std::string_view team);

 private:
  Database& database_;
  DeliveryTable& deliveries_;
};

}  // namespace inbox_poller::poller

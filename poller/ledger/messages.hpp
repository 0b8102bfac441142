// Messages as they were accepted: each is known again by its key.
#pragma once

#include "poller/ledger/deliveries.hpp"
#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Everything that was ever met in an inbox of ours and is not yet pruned.
class MessageTable {
 public:
  MessageTable(Database& database, DeliveryTable& deliveries) : database_(database), deliveries_(deliveries) {}

  Result<bool> known(const schema::MessageKey&);
  /// Queues it as well when it is for the lead. Its id; a second row with the same key is refused.
  Result<long long> insert(const MessageRow&);
  Result<std::optional<MessageRow>> find(const schema::MessageKey&);
  /// Messages whose key starts with `prefix` (for `trace`), at most `limit`.
  Result<std::vector<MessageRow>> like(std::string_view prefix, int limit);
  /// The newest messages that fit, oldest of them first.
  struct Wanted {
    std::string team, sender, type;  // empty: any
    EpochMs since_ms = 0;
  };
  Result<std::vector<MessageRow>> latest(const Wanted&, int limit);
  /// The newest message of this type about an ask or a shutdown.
  Result<std::optional<MessageRow>> about(std::string_view team, std::string_view sender, std::string_view request_id,
                                           std::string_view type);
  /// Refused and bad entries of one team, or of all with an empty name; newest first.
  Result<std::vector<MessageRow>> quarantined(std::string_view team, int limit);
  Result<long long> quarantined_count(std::string_view team);

 private:
  Database& database_;
  DeliveryTable& deliveries_;
};

}  // namespace inbox_poller::poller

// The history of messages and approval requests, one line for each event. An event that a message's row still records
// has no line. Source: docs/adr/0017-what-a-row-tells.md.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// History lines of messages and approval requests, oldest first.
class HistoryTable {
 public:
  explicit HistoryTable(Database& database) : database_(database) {}

  Status add(const HistoryRow&);
  Result<std::vector<HistoryRow>> of_message(const schema::MessageKey&);
  Result<std::vector<HistoryRow>> of_request(std::string_view team, std::string_view request_id);

 private:
  Database& database_;
};

}  // namespace inbox_poller::poller

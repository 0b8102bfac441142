// What happened to messages and asks, a line each; of a message only what its row does not tell.
#pragma once

#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

/// Lines in the lives of messages and asks.
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

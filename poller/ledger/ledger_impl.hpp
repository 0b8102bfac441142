// What the parts of the ledger share: the connection, the lock that makes this process its only writer, the texts of
// the states.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/ledger/ledger.hpp"
#include "poller/ledger/ledger_file.hpp"
#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {

struct Ledger::Impl {
  LedgerLock lock;  // let go only after the connection is closed
  std::unique_ptr<Database> database;
};

std::optional<Disposition> parse_disposition(std::string_view);
std::optional<DeliveryState> parse_delivery_state(std::string_view);
std::optional<EffectState> parse_effect_state(std::string_view);

/// `[1,2,3]`, for json_each: one statement for any number of rows.
std::string json_list(const std::vector<long long>& ids);

}  // namespace inbox_poller::poller

// The parts of the ledger: the lock that makes this process the only daemon of the file, the connection, the tables.
#pragma once

#include <memory>
#include <optional>

#include "poller/ledger/ledger.hpp"
#include "poller/ledger/ledger_file.hpp"
#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {

struct Ledger::Impl {
  Impl(LedgerLock taken, std::unique_ptr<Database> opened) : lock(std::move(taken)), database(std::move(opened)) {}

  LedgerLock lock;  // first, so that it is released only after the connection is closed
  std::unique_ptr<Database> database;
  std::optional<SetAsideLedger> older;
  bool is_new = false;
  bool was_saved = false;
  DeliveryTable deliveries{*database};
  MessageTable messages{*database, deliveries};
  RequestTable requests{*database};
  OutboxTable outbox{*database};
  ShutdownTable shutdowns{*database};
  OrderTable orders{*database};
  MemberTable members{*database};
  RuleTable rules{*database};
  LeadTable leads{*database};
  RosterTable rosters{*database};
  HistoryTable history{*database};
  NodeMailTable node_mail{*database};
};

}  // namespace inbox_poller::poller

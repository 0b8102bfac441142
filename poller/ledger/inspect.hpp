// A look at a ledger from outside, beside a daemon that may be using it: read-only, without its lock, changing nothing.
// What it is not: the examination at start (open.cpp), which is thorough and has the ledger to itself.
#pragma once

#include <string>

#include "schema/error.hpp"

namespace inbox_poller::poller {

struct LedgerReport {
  bool exists = false;
  int format = 0;       // of its tables
  std::string finding;  // "ok", or the first thing that is wrong with it
};

/// Errors are those of ledger_exists() and "ledger.foreign", "ledger.newer", "ledger.io". A missing ledger is none.
Result<LedgerReport> inspect_ledger(const std::string& path);

}  // namespace inbox_poller::poller

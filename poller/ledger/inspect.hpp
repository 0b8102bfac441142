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

/// An error, "ledger.saved" or "ledger.unsafe", when a ledger that was taken away from its daemon waits beside the path.
Status told_if_saved(const std::string& path);

/// Errors are those of told_if_saved() and ledger_exists(), and "ledger.foreign", "ledger.newer", "ledger.older", "ledger.io". A missing
/// ledger is none.
Result<LedgerReport> inspect_ledger(const std::string& path);

}  // namespace inbox_poller::poller

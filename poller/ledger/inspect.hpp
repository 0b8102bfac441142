// A check of a ledger from outside, also while a daemon uses it: read-only and without the ledger's lock. It is not the
// examination at the daemon's start (open.cpp), which is thorough and needs the lock.
#pragma once

#include <string>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Format and first defect of an inspected ledger.
struct LedgerReport {
  bool exists = false;
  int format = 0;       // of the tables
  std::string finding;  // "ok", or the first defect
};

/// Fails if a ledger that was taken away from its daemon waits at saved_ledger(). Errors: "ledger.saved",
/// "ledger.unsafe", "ledger.io".
Status told_if_saved(const std::string& path);

/// Checks the format and the structure. A missing ledger is no error. Errors: those of told_if_saved() and
/// ledger_exists(), "ledger.foreign", "ledger.newer", "ledger.older", "ledger.io".
Result<LedgerReport> inspect_ledger(const std::string& path);

}  // namespace inbox_poller::poller

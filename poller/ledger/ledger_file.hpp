// The ledger as a file: who may have it, what it must look like before SQLite touches it, and how it is set aside.
// Invariants: a new ledger appears under its name complete or not at all (built beside it, then renamed), so that an
// empty file is always damage; one process has it (flock on FILE.lock, which is never removed); no symbolic link is
// followed.
#pragma once

#include <string>
#include <utility>

#include "poller/clock.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Exclusive ownership of a ledger by this process, until destroyed. Our pid stands in the lock file, for people.
class LedgerLock {
 public:
  LedgerLock() = default;
  LedgerLock(LedgerLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LedgerLock& operator=(LedgerLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~LedgerLock();

  /// "ledger.in_use" when another daemon has it.
  static Result<LedgerLock> take(const std::string& ledger_path);

 private:
  int fd_ = -1;
};

/// The path with its directory resolved, so that only the last component is left to judge. The directory must exist.
Result<std::string> resolved_path(const std::string& path);

/// True when a ledger is there and is a plain file of ours that nobody else can write; false when there is none.
/// Anything else (a link, a FIFO, another owner, a write-ahead log without its ledger) is an error.
Result<bool> ledger_exists(const std::string& path);

/// Where Ledger::save() puts what was in a ledger that was taken away while it was open.
std::string saved_ledger(const std::string& path);

/// True when a saved ledger is there and can go to its path; false when there is none. "ledger.saved": something else
/// has the path, and only a person knows which one is to be used; "ledger.unsafe": the saved one is not ours alone.
Result<bool> saved_ledger_waits(const std::string& path);

/// Creates an empty file, 0600 whatever the umask, in place of a left-over of an interrupted attempt.
Status create_private_file(const std::string& path);

/// Makes what was written to the file durable.
Status sync_file(const std::string& path);

/// Renames and makes the renaming durable.
Status rename_durably(const std::string& from, const std::string& to);

/// Renames the ledger and then its companions (`-wal`, `-shm`, `-journal`, `.saved`) to `wanted`, or to `wanted-2` and so
/// on when a set-aside ledger has that name. Every renaming is durable. Returns the ledger's new name, or an empty one when
/// nothing was there. The caller has the ledger's lock, and no connection is open.
Result<std::string> rename_ledger(const std::string& path, const std::string& wanted);

/// Sets a damaged ledger aside: takes its lock and renames it to `<path>.damaged-<time>` (rename_ledger()). Error
/// "ledger.in_use": a daemon has the ledger.
Result<std::string> set_ledger_aside(const std::string& path, EpochMs now_ms);

}  // namespace inbox_poller::poller

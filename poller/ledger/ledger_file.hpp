// The ledger as a file: its lock, its checks before SQLite opens it, and its renaming. Invariants: a new ledger appears
// at its path complete or not at all, so that an empty file is always damage. One process has the ledger (flock on
// FILE.lock, which is never removed). A symbolic link as the last component is never followed.
#pragma once

#include <string>
#include <utility>

#include "poller/clock.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Exclusive ownership of a ledger by this process, until destruction. The lock file has the process number for people.
class LedgerLock {
 public:
  LedgerLock() = default;
  LedgerLock(LedgerLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LedgerLock& operator=(LedgerLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~LedgerLock();

  /// Takes the lock. Errors: "ledger.in_use" (by another daemon), "ledger.unsafe", "ledger.io", "ledger.full".
  static Result<LedgerLock> take(const std::string& ledger_path);

 private:
  int fd_ = -1;
};

/// Resolves the directory of a path, so that only the last component must be checked. Error: "ledger.io", if the
/// directory is missing or the path has no file name.
Result<std::string> resolved_path(const std::string& path);

/// Returns true for a plain file of this user that no other user can write; false if there is no ledger. Errors:
/// "ledger.unsafe" (a link, a FIFO, another owner), "ledger.damaged" (cut, or a log without its ledger), "ledger.io".
Result<bool> ledger_exists(const std::string& path);

/// Path for Ledger::save() after a ledger was taken away.
std::string saved_ledger(const std::string& path);

/// Returns true if a saved ledger exists and can be renamed to `path`; false if there is none. Errors: "ledger.saved"
/// (another file has the path, and a person must choose), "ledger.unsafe" (the saved one), "ledger.io".
Result<bool> saved_ledger_waits(const std::string& path);

/// Creates an empty file, 0600 whatever the umask. Replaces the rest of an interrupted attempt.
Status create_private_file(const std::string& path);

/// Syncs the file to the disk.
Status sync_file(const std::string& path);

/// Renames a file and syncs the target's directory.
Status rename_durably(const std::string& from, const std::string& to);

/// Renames the ledger and then its companions (`-wal`, `-shm`, `-journal`, `.saved`) to `wanted`, or to `wanted-2` and
/// so on if that name is taken. Each renaming is durable. Returns the ledger's new name; empty if no file was there.
/// The caller must have the ledger's lock, and no connection may be open.
Result<std::string> rename_ledger(const std::string& path, const std::string& wanted);

/// Takes the lock of a damaged ledger and renames the ledger to `<path>.damaged-<time>` by rename_ledger(). Errors:
/// those of LedgerLock::take().
Result<std::string> set_ledger_aside(const std::string& path, EpochMs now_ms);

}  // namespace inbox_poller::poller

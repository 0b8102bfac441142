// The names of an open ledger's files, and the files that had these names at the opening. SQLite also commits into a
// file that was unlinked, moved or replaced, and the next start does not find those rows. This is not the lock
// (ledger_file.hpp) and does not check contents. Invariants: no file is opened, because closing a second descriptor
// would end SQLite's own locks. An examination that fails never counts as success. Source: docs/adr/0049.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Identity and size of an open ledger's four files.
class LedgerPlace {
 public:
  /// Describes a ledger without files (":memory:"), which always passes examine().
  LedgerPlace() = default;
  /// Records the ledger at `path`, its log, its index and its lock. The ledger must be open, with a write-ahead log.
  /// Errors: "ledger.gone" (one of the files is missing), "ledger.io" (one of them cannot be examined).
  static Result<LedgerPlace> remember(const std::string& path);

  /// Compares device and inode of the four files with the recorded ones, by `lstat`. The ledger must not shrink, and
  /// its log must have at least `log_bytes`. Errors: "ledger.gone" (names the file and its change), "ledger.io" (a file
  /// could not be examined).
  Status examine(off_t log_bytes);

  /// Returns true if the ledger itself, without its companions, is still the file at its path and was not cut.
  [[nodiscard]] bool has_main_file();
  /// Returns true if the ledger and its log have at least these sizes, and the log has no hole.
  [[nodiscard]] bool has_bytes(off_t ledger_bytes, off_t log_bytes) const;
  /// Records that the log has a hole, though its size is right: it was cut, and a commit wrote behind the cut.
  void found_hole() { is_cut_ = has_hole_ = true; }
  /// Accepts the present sizes, because SQLite itself shortened the files.
  void forget_sizes();
  /// Returns true if another file has the log's name now.
  [[nodiscard]] bool has_another_log() const;
  /// Returns true if examine() found that a file was cut, so that the ledger cannot be read completely.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  struct Part {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
    off_t least_bytes = 0;
  };
  Status examine(Part& part);

  std::vector<Part> parts_;  // the ledger first, then its log
  bool is_cut_ = false, has_hole_ = false;
};

}  // namespace inbox_poller::poller

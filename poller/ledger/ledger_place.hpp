// The names of an open ledger's files, and the files that had these names when it was opened. A file that is unlinked,
// moved or replaced goes on to work for SQLite: commits succeed into something that the next start will not find.
// This is not the lock (ledger_file.hpp) and no check of contents. Invariants: nothing is opened (closing a second
// descriptor would end SQLite's own locks), and a doubt is never "still there". Source: docs/adr/0052.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

class LedgerPlace {
 public:
  /// Describes a ledger that has no files (":memory:"): it is always still there.
  LedgerPlace() = default;
  /// Remembers the ledger at `path`, its log, its index and its lock. The ledger must be open, with a write-ahead log.
  /// Errors: "ledger.gone" when one of them is missing already, "ledger.io" when that cannot be found out.
  static Result<LedgerPlace> remember(const std::string& path);

  /// Compares what has the four names now with what had them then: device and inode, and that no file was cut: the
  /// ledger never becomes smaller, its log has at least `log_bytes`. Four `lstat`. Errors: "ledger.gone" names the
  /// file and what became of it; "ledger.io" when that cannot be found out.
  Status examine(off_t log_bytes);

  /// True when the ledger itself, without its companions, is still the file at its path, and uncut.
  [[nodiscard]] bool has_main_file();
  /// True when the ledger and its log have at least that many bytes.
  [[nodiscard]] bool has_bytes(off_t ledger_bytes, off_t log_bytes) const;
  /// From now on the files may be as short as they are: whoever shortened them was allowed to.
  void forget_sizes();
  /// True when something else has the log's name now.
  [[nodiscard]] bool has_another_log() const;
  /// True when examine() has found a file cut: what the ledger holds cannot be read whole any more.
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
  bool is_cut_ = false;
};

}  // namespace inbox_poller::poller

// Memory that a scan of the ledger found nothing to do, so that a poll scans only after a row was written.
#pragma once

#include <concepts>

namespace inbox_poller::poller {

class FoundEmpty {
 public:
  /// Returns true if there is nothing to do. `changes` is the present Ledger::changes() or chat_changes(). `look` scans
  /// and returns true if it found nothing. `look` runs only if `changes` differs from its value at the last empty scan.
  /// `look` may write; the next call then scans again.
  template <std::predicate Look>
  bool check(long long changes, Look&& look) {
    if (at_ == changes) return true;
    const bool is_empty = look();
    at_ = is_empty ? changes : never;
    return is_empty;
  }

 private:
  static constexpr long long never = -1;
  long long at_ = never;
};

}  // namespace inbox_poller::poller

// That a look into the ledger found nothing to do, until a row is written: who looks with each poll does so by way of
// this.
#pragma once

#include <concepts>

namespace inbox_poller::poller {

class FoundEmpty {
 public:
  /// Whether nothing is there. `changes`: the ledger's counter now (Ledger::changes(), chat_changes()). `look` is only
  /// called when that is another one than at the last look that found nothing. It may write: what is written meanwhile
  /// is looked at the next time. True when it found nothing, now and for later.
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

// That a look into the ledger found nothing to do, until a row is written: who looks with each poll asks here first.
#pragma once

namespace inbox_poller::poller {

class FoundEmpty {
 public:
  /// `changes`: the ledger's counter now (Database::changes(), chat_changes()).
  [[nodiscard]] bool still(long long changes) const { return at_ == changes; }
  void note(bool is_empty, long long changes) { at_ = is_empty ? changes : never; }

 private:
  static constexpr long long never = -1;
  long long at_ = never;
};

}  // namespace inbox_poller::poller

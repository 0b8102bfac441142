// Somebody who waits for chat. What arrives is lent to them by the very transaction that accepts it, so there is one wait
// for the disk between a message and its reader and not two. Source: docs/adr/0015-group-commit.md.
#pragma once

#include <utility>
#include <vector>

#include "poller/delivery/delivery.hpp"

namespace inbox_poller::poller {

class PendingFetch {
 public:
  /// Waits until this goes.
  PendingFetch(Delivery& delivery, Take take) : delivery_(delivery), waits_{std::move(take)} { delivery_.wait_for(waits_); }
  ~PendingFetch() { delivery_.stop_waiting(waits_); }
  PendingFetch(const PendingFetch&) = delete;
  PendingFetch& operator=(const PendingFetch&) = delete;

  /// What was lent meanwhile; nothing most often. Whoever does not want it any more puts it back: Delivery::unoffer().
  [[nodiscard]] std::vector<Offered> fetch() { return std::exchange(waits_.lent, {}); }

 private:
  Delivery& delivery_;
  WaitingFor waits_;
};

}  // namespace inbox_poller::poller

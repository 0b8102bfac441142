// A receiver blocked in `recv`. New chat is leased to it inside the transaction that stores the chat, so delivery costs
// one fsync, not two. Source: docs/adr/0015-group-commit.md.
#pragma once

#include <utility>
#include <vector>

#include "poller/delivery/delivery.hpp"

namespace inbox_poller::poller {

class PendingFetch {
 public:
  /// Registers the receiver with `delivery`; the destructor unregisters it. `delivery` must outlive this object.
  PendingFetch(Delivery& delivery, FetchOptions fetch) : delivery_(delivery), waits_{std::move(fetch)} {
    delivery_.wait_for(waits_);
  }
  ~PendingFetch() { delivery_.stop_waiting(waits_); }
  PendingFetch(const PendingFetch&) = delete;
  PendingFetch& operator=(const PendingFetch&) = delete;

  /// Returns the messages leased since the last call (usually none). The caller must deliver them or return them with
  /// Delivery::return_unseen().
  [[nodiscard]] std::vector<LeasedMessage> fetch() { return std::exchange(waits_.leased, {}); }

 private:
  Delivery& delivery_;
  WaitingFor waits_;
};

}  // namespace inbox_poller::poller

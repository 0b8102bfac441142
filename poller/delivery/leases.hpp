// Leases of unacknowledged messages, and their only store. Holders are sockets, hooks, terminals, programs and waiting
// receivers. The ledger records the end of a lease first; this class follows it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "poller/clock.hpp"
#include "poller/delivery/sinks.hpp"

namespace inbox_poller::poller {

class Leases {
 public:
  /// A holder that stays connected, and returns its messages when it leaves.
  using Holder = std::uint64_t;

  struct Lease {
    long long id = 0;  // of the message, in the ledger
    std::string key;
    std::string from;
    EpochMs received_ms = 0;
    std::string method;      // name of the delivery method
    long long order = 0;   // of leasing; differs from the order of ids, because urgent messages go first
    std::optional<SteadyTime> until = {};  // steady clock; requeued then; empty: when its holder leaves
    Holder holder = 0;                     // 0: no connected holder
  };

  /// Adds leases of these messages, made by this delivery method.
  void grant(const std::vector<LeasedMessage>&, const std::string& method, std::optional<SteadyTime> until);
  /// Removes leases of messages that were acknowledged, requeued, or never shown.
  void end(const std::vector<long long>& ids);
  /// Ends the leases of delivered messages, and leaves acknowledged ones out of taken_by_holder() until shown again.
  void end(const std::vector<long long>& delivered, std::vector<long long> acknowledged);

  [[nodiscard]] bool has(long long id) const { return by_id_.contains(id); }
  /// Finds the lease of a message; null when it is not leased.
  [[nodiscard]] const Lease* find(std::string_view key) const;
  /// Sets the end of a lease. False when the message is not leased.
  bool set_end(long long id, SteadyTime until);
  /// Ids of the leases that end at this moment or earlier.
  [[nodiscard]] std::vector<long long> due(SteadyTime by) const;
  /// Senders of the leases that ended after `after`, and at `by` or earlier.
  [[nodiscard]] std::set<std::string> due_senders(SteadyTime after, SteadyTime by) const;
  Holder enter();
  /// Records that these messages were shown to the holder, in this order.
  void hold(Holder, const std::vector<LeasedMessage>&);
  /// Removes a holder and returns the messages that it still has. The list of messages shown to it is kept for a while.
  [[nodiscard]] std::vector<LeasedMessage> leave(Holder);

  /// Returns `key` after the keys of all messages that this method leased earlier.
  [[nodiscard]] std::vector<std::string> taken_by_method(const std::string& method, const std::string& key) const;
  /// Returns `key` after the keys of all messages that its last holder was shown earlier and that nobody acknowledged.
  [[nodiscard]] std::vector<std::string> taken_by_holder(const std::string& key) const;

 private:
  struct Held {
    Holder holder = 0;
    std::vector<std::pair<long long, std::string>> shown = {};  // id, or 0 once acknowledged, and key
    bool has_left = false;
  };
  std::map<long long, Lease> by_id_;
  std::unordered_map<std::string_view, long long> by_key_;  // keys of by_id_
  std::deque<Held> held_;  // present holders and those that left last, oldest first
  long long lent_out_ = 0;
  Holder last_holder_ = 0;
};

}  // namespace inbox_poller::poller

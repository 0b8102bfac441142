// Who has which message that is not acknowledged. The only place that knows it: sockets, hooks, terminals, programs and
// whoever waits are holders. What ends a lease is in the ledger first; here it is only followed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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
  /// Somebody who stays, such as a connection, and gives back what it has when it goes.
  using Holder = std::uint64_t;

  struct Lease {
    long long id = 0;  // the message's, in the ledger
    std::string key;
    std::string from;
    EpochMs received_ms = 0;
    std::string sink;      // the way it was lent out by
    long long order = 0;   // of lending out, which is not that of ids: urgent ones go first
    std::optional<SteadyTime> until = {};  // when it comes back by itself; none: with its holder
    Holder holder = 0;                     // 0: nobody who stays
  };

  /// They are lent out by this sink.
  void lend(const std::vector<Offered>&, const std::string& sink, std::optional<SteadyTime> until);
  /// They are acknowledged, queued again, or were never shown.
  void end(const std::vector<long long>& ids);

  [[nodiscard]] bool has(long long id) const { return by_id_.contains(id); }
  /// Null when nobody has it.
  [[nodiscard]] const Lease* find(std::string_view key) const;
  /// It comes back then. False when nobody has it.
  bool set_end(long long id, SteadyTime until);
  /// Those that come back by themselves, at this moment or earlier.
  [[nodiscard]] std::vector<long long> due(SteadyTime by) const;

  Holder enter();
  /// It was shown these, in this order.
  void hold(Holder, const std::vector<Offered>&);
  /// It has gone. What it still had; what it was shown is known a while longer.
  [[nodiscard]] std::vector<Offered> leave(Holder);

  /// That key, and those of everything that was lent out by this sink before it.
  [[nodiscard]] std::vector<std::string> taken_by_sink(const std::string& sink, const std::string& key) const;
  /// That key, and those of everything that the holder which was shown it last had been shown before it.
  [[nodiscard]] std::vector<std::string> taken_by_holder(const std::string& key) const;

 private:
  struct Held {
    Holder holder = 0;
    std::vector<std::pair<long long, std::string>> shown = {};  // id and key
    bool has_left = false;
  };

  std::map<long long, Lease> by_id_;
  std::unordered_map<std::string_view, long long> by_key_;  // of the same, in by_id_
  std::deque<Held> held_;  // by those who stay and those who left last, in the order in which they came
  long long lent_out_ = 0;
  Holder last_holder_ = 0;
};

}  // namespace inbox_poller::poller

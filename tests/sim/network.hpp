// The way between the machines of a team: the engine in memory of the unit tests, with the delays and the faults of a
// network. A call may not arrive, and an answer may be lost after its call had its effect.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <set>
#include <string>

#include "poller/broker/broker.hpp"
#include "tests/sim/fate.hpp"
#include "tests/support/memory_broker.hpp"

namespace inbox_poller::sim {

class SimBroker;

class Network {
 public:
  explicit Network(Dice& dice) : dice_(dice) {}

  /// A connection of the node's daemon, which has `fate`.
  std::unique_ptr<poller::Broker> open(const std::string& node, Fate& fate, boost::asio::any_io_executor executor);
  test::MemoryBrokerData& engine() { return engine_; }
  [[nodiscard]] const std::string& leader() const { return engine_.led_by; }
  /// Ends all faults.
  void heal();

  // Faults
  Span slowest{};                    // a way takes up to so long; zero: as usual
  std::uint64_t loses_one_in = 0;    // answers

 private:
  friend class SimBroker;
  /// Time of one way.
  Span way();
  [[nodiscard]] bool reaches(const std::string& node) const;
  /// Wakes all who wait for frames.
  void raise();

  Dice& dice_;
  test::MemoryBrokerData engine_;
  std::set<SimBroker*> waiting_;
  std::uint64_t raised_ = 0;
};

}  // namespace inbox_poller::sim

// Between the ledger and the engine: what waits is put, in the order of its stream, until the receiver's ledger has it;
// what arrives is checked, committed, and only then acknowledged. What the engine loses, repeats or forgets is made good
// from here: nothing counts as there before the receiving host itself says so (a receipt). Touches no box.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/hosts/host_state.hpp"

namespace inbox_poller::poller {

class Relay {
 public:
  /// `decode`: of an entry, as this host's boxes spell them.
  Relay(HostState& state, Broker& exchange, std::function<Result<schema::Message>(std::string_view)> decode)
      : state_(state), exchange_(exchange), decode_(std::move(decode)) {}

  /// Puts what waits, tells what is to be told. False when the engine is in the way: come back later.
  boost::asio::awaitable<bool> send();
  /// Takes what arrives, waiting for it at most so long. False likewise.
  boost::asio::awaitable<bool> receive(std::chrono::milliseconds wait);
  /// Compares the engine's data with what it was. False when that cannot be told: nothing may be put.
  boost::asio::awaitable<bool> look_at_place();
  /// Under another epoch: who leads is sent what was not settled before.
  Status leader_changed(const std::string& leader, std::int64_t epoch);

  /// Raised when something was heard or arrived.
  std::function<void()> arrived = [] {};

 private:
  boost::asio::awaitable<bool> send_stream(std::string stream);
  boost::asio::awaitable<bool> put(std::vector<HostMailRow> rows);
  boost::asio::awaitable<bool> answer(std::vector<HostMailRow> rows);
  boost::asio::awaitable<bool> tell(std::string host);
  /// Each behind the one before it.
  Result<std::vector<Frame>> letters_of(const std::vector<HostMailRow>&) const;
  bool failed(const Error&);
  bool ledger_failed(const Error&);
  /// Not when the lease ended while it was on its way: then it is neither kept nor refused.
  [[nodiscard]] bool is_for_us(const ReceivedFrame&) const;
  Status take(const ReceivedFrame&, Tx&);
  Status take_receipt(const ReceivedFrame&, Tx&);
  Status keep(const ReceivedFrame&, Tx&);
  /// One for the lead came, perhaps again: what was handed over is ours again.
  Status take_up(const HostMailRow& letter);
  Result<bool> decided_here(const HostMailRow&) const;
  /// Why it is refused; what it says is filled in on the way.
  Result<std::optional<handlers::Refused>> examine(const ReceivedFrame&, HostMailRow&) const;

  HostState& state_;
  std::pair<std::string, std::int64_t> heard_of_;  // who led last, under which epoch
  Broker& exchange_;
  std::function<Result<schema::Message>(std::string_view)> decode_;
  std::optional<SteadyTime> place_seen_;  // none: not since something went wrong
  EpochMs looked_for_unheard_ms_ = 0;
  std::map<std::string, std::size_t> refused_bytes_;  // by host
  std::map<std::string, std::size_t> refused_now_;  // the same, as the open transaction leaves it
  std::map<std::pair<std::string, bool>, long long> last_numbers_;  // by host and whether for the lead; of one transaction
};

}  // namespace inbox_poller::poller

// Replication between the ledger and the broker. Rows are put in stream order until the receiver's ledger has them.
// Received frames are checked, committed, and only then acknowledged. The broker may lose, repeat or forget frames.
// A row counts as delivered only after a receipt of the receiving node. Does not touch inboxes.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/cluster/node_state.hpp"

namespace inbox_poller::poller {

/// Replicator of one team. `state` and `broker` must outlive this object. Decision thread only.
class Replicator {
 public:
  /// `decode` parses a frame's entry in the format of this node's inboxes.
  Replicator(NodeState& state, Broker& broker, std::function<Result<schema::Message>(std::string_view)> decode)
      : state_(state), broker_(broker), decode_(std::move(decode)) {}

  /// Puts waiting rows and sends due receipts. False on an error of the broker or the ledger, or when fenced: retry
  /// later.
  boost::asio::awaitable<bool> send();
  /// Receives and commits frames; waits at most `wait` for the first. False on an error of the broker or the ledger:
  /// retry later.
  boost::asio::awaitable<bool> receive(std::chrono::milliseconds wait);
  /// Compares the identity of the broker's data with the recorded one. After a change, all unconfirmed rows wait again.
  /// False if the identity cannot be read or recorded; nothing may be put then.
  boost::asio::awaitable<bool> look_at_place();
  /// Records the leader and its epoch. After a change, the rows for the lead that are not settled wait again.
  /// Errors: "ledger.*".
  Status leader_changed(const std::string& leader, std::int64_t epoch);
  /// Adds a row with the final answer of another leader, whose frame may be lost. A node that has it ignores the copy.
  /// Errors: "ledger.*".
  Status pass_on(const std::string& type, const std::string& worker, const FinalAnswer& answer, Tx&);

  /// Called after received frames, messages or receipts, were committed.
  std::function<void()> arrived = [] {};

 private:
  boost::asio::awaitable<bool> send_stream(std::string stream);
  boost::asio::awaitable<bool> put(std::vector<NodeMailRow> rows);
  boost::asio::awaitable<bool> answer(std::vector<NodeMailRow> rows);
  boost::asio::awaitable<bool> tell(std::string node);
  /// Builds one frame per row; each names the frame that must precede it. Errors: "ledger.*".
  Result<std::vector<Frame>> letters_of(const std::vector<NodeMailRow>&) const;
  bool failed(const Error&);
  bool ledger_failed(const Error&);
  /// False for frames to the lead when this node no longer leads; they are neither stored nor rejected.
  [[nodiscard]] bool is_for_us(const ReceivedFrame&) const;
  Status take(const ReceivedFrame&, Tx&);
  Status take_receipt(const ReceivedFrame&, Tx&);
  Status keep(const ReceivedFrame&, Tx&);
  /// Reclaims a message for the lead that this node had handed to another leader.
  Status take_up(const NodeMailRow& frame);
  Result<bool> decided_here(const NodeMailRow&) const;
  /// Returns the reason for rejection, empty if accepted. Fills the row from the frame. Errors: "ledger.*".
  Result<std::optional<handlers::Refused>> examine(const ReceivedFrame&, NodeMailRow&) const;

  NodeState& state_;
  std::pair<std::string, std::int64_t> heard_of_;  // last recorded leader and epoch
  Broker& broker_;
  std::function<Result<schema::Message>(std::string_view)> decode_;
  std::optional<SteadyTime> place_seen_;  // last successful look_at_place(); empty after an error of the broker
  EpochMs looked_for_unheard_ms_ = 0;
  std::map<std::string, std::size_t> refused_bytes_;  // by node: bytes of rejected frames that were kept whole
  std::map<std::string, std::size_t> refused_now_;  // the same, as the open transaction leaves it
  std::map<std::pair<std::string, bool>, long long> last_numbers_;  // by node and `lead`, of one transaction
};

}  // namespace inbox_poller::poller

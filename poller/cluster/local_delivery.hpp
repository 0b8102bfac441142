// Moves messages between this node's inboxes and the ledger. A message found here for a remote member becomes a row to
// put. Rows received for local members are written into their inboxes, once, in each sender's order. Runs within the
// team's poll, because calls on one team's mailbox must not overlap. Does not use the broker.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "poller/cluster/node_state.hpp"
#include "poller/ledger/found_empty.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

/// Local half of the replication. `state` and `local` must outlive this object. Decision thread only.
class LocalDelivery {
 public:
  LocalDelivery(NodeState& state, Mailbox& local) : state_(state), local_(local) {}

  /// Tracks the messages that an earlier process wrote into inboxes and that were not read. Errors: "ledger.*".
  Status restore();
  /// Moves everything that can be moved now. `boxes` are all inboxes of this node.
  /// With `hold_lead`, the lead's inbox is left as it is.
  boost::asio::awaitable<void> run(std::span<const ReadyBox> boxes, bool hold_lead);

 private:
  struct Filed {
    long long id = 0;
    schema::MessageKey key;  // as the inbox has it
  };
  boost::asio::awaitable<void> take_out(std::string box, std::string owner);
  /// Stores all messages in one transaction. Returns one Ack per message, in order. Errors: "ledger.*".
  Result<std::vector<Ack>> accept(const std::string& box, const std::string& owner, const std::vector<BoxMessage>&);
  Status accept_one(const std::string& owner, const BoxMessage&, Tx&);
  void put_in();
  /// `more`: another batch may make progress, without the held inboxes. `stuck`: the rest waits for the next poll.
  enum class PutIn { all, more, stuck };
  PutIn put_some_in(std::set<std::string>& held);
  void look_at_filed();
  [[nodiscard]] schema::MessageKey key_in_box(const std::string& inbox, const schema::Message&) const;

  NodeState& state_;
  Mailbox& local_;
  std::set<std::string> left_;  // remote-owned inboxes with messages that were not taken
  std::map<std::string, std::vector<Filed>> filed_;  // by inbox: written there and not read yet
  FoundEmpty none_to_put_in_;
};

}  // namespace inbox_poller::poller

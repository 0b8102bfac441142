// Between this host's boxes and the ledger: mail that stands in a box here and is for a member elsewhere becomes a row to
// be put; rows that came for members here are put into their boxes, once, in each sender's order. Runs within the team's
// poll, because calls for one team's boxes are made one at a time. Knows nothing of the engine.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "poller/hosts/host_state.hpp"
#include "poller/ledger/found_empty.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

class LocalDelivery {
 public:
  LocalDelivery(HostState& state, Mailbox& local) : state_(state), local_(local) {}

  /// Follows what an earlier process put into boxes.
  Status restore();
  /// Carries what can be carried now. `boxes`: all that there are on this host; `hold_lead`: the lead's stays as it is.
  boost::asio::awaitable<void> run(std::span<const News> boxes, bool hold_lead);

 private:
  struct Filed {
    long long id = 0;
    schema::MessageKey key;  // as the box has it
  };
  boost::asio::awaitable<void> take_out(std::string box, std::string owner);
  /// One transaction. What becomes of each.
  Result<std::vector<Ack>> accept(const std::string& box, const std::string& owner, const std::vector<Taken>&);
  Status accept_one(const std::string& owner, const Taken&, Tx&);
  void put_in();
  /// `more`: behind what is held now. `stuck`: the rest is for the next poll.
  enum class PutIn { all, more, stuck };
  PutIn put_some_in(std::set<std::string>& held);
  void look_at_filed();
  [[nodiscard]] schema::MessageKey key_in_box(const std::string& inbox, const schema::Message&) const;

  HostState& state_;
  Mailbox& local_;
  std::set<std::string> left_;  // boxes of which something was left
  std::map<std::string, std::vector<Filed>> filed_;  // by inbox: stands there, and was not read
  FoundEmpty none_to_put_in_;
};

}  // namespace inbox_poller::poller

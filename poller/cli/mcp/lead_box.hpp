// The mailbox of a team's lead, over the daemon's control socket. The daemon has the gate, the ledger and the leases.
// Each waiting recv has a connection of its own, which holds the lease of its message. Tasks and filters by type do not
// exist there; such calls fail with a sentence.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "poller/cli/mcp/backend.hpp"
#include "poller/cli/mcp/channel.hpp"
#include "poller/control/client.hpp"
#include "schema/operations/message.hpp"

namespace inbox_poller::poller::cli::mcp {

/// The daemon's socket and the team; an empty team: the only one.
struct LeadPlace {
  std::string socket;
  std::string team;
};

class LeadBox : public ActorMail {
 public:
  /// Binds the mailbox to a loop, which must outlive it.
  LeadBox(boost::asio::io_context& loop, LeadPlace place)
      : ActorMail("lead"), loop_(loop), place_(std::move(place)) {}

  Result<Sent> send(const MessageDraft&) override;
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, std::chrono::milliseconds within) override;
  Status acknowledge(const std::string& ticket) override;
  void requeue(const std::string& ticket) override { leased_.erase(ticket); }
  Result<boost::json::object> inbox() override;

 private:
  /// Returns the line that tells a worker which of its messages is answered; an inbox has no field for that.
  Result<std::string> answered_line(const MessageDraft&) const;
  void remember(const operations::LeadMessage&);
  /// Waits until a message arrives, the time is over, or the daemon refuses.
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv_once(std::chrono::milliseconds within);
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv_over(ControlClient client,
                                                                 std::chrono::milliseconds within);
  boost::json::object shown(const operations::LeadMessage&) const;

  boost::asio::io_context& loop_;
  LeadPlace place_;
  struct Heard {
    std::string from;
    std::string beginning;  // by which the sender recognizes its message
  };
  static constexpr std::size_t most_remembered = 1000;
  std::map<std::string, Heard> heard_;  // by message key: messages received
  std::deque<std::string> remembered_;  // the keys of heard_, oldest first
  std::map<std::string, ControlClient> leased_;  // by message key: the connection that holds the lease
};

/// Backend for a lead: the common tools, and the lead's own if the daemon's `[lead] mcp_tools` allows them.
class LeadBackend : public ActorBackend {
 public:
  LeadBackend(boost::asio::io_context& loop, LeadBox& box, LeadPlace place)
      : ActorBackend(box, nullptr, ""), loop_(loop), place_(std::move(place)) {}

  /// Adds a channel, and the tool that acknowledges its events.
  void push_over(Channel& channel) { channel_ = &channel; }

  void before_list() override;
  bool shows(const Tool&) override;
  [[nodiscard]] std::string instructions() const override;
  boost::asio::awaitable<Result<Given>> call(const Tool&, boost::json::object arguments) override;
  [[nodiscard]] std::string whole(const Tool&) const override;

 private:
  boost::asio::io_context& loop_;
  LeadPlace place_;
  Channel* channel_ = nullptr;
  bool has_lead_tools_ = true;
};

}  // namespace inbox_poller::poller::cli::mcp

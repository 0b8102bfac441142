// The lead of a team that a daemon serves, over its control socket: the gate, the ledger and the acknowledgement are
// the daemon's. Each recv that waits has a connection of its own, which is the lease of what it was given. What such a
// team does not have (tasks here, types to choose from) is refused in words.
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

/// Where the daemon is, and which of its teams is meant; empty: the only one.
struct LeadPlace {
  std::string socket;
  std::string team;
};

class LeadBox : public ActorMail {
 public:
  /// The loop has to outlive it.
  LeadBox(boost::asio::io_context& loop, LeadPlace place)
      : ActorMail("lead"), loop_(loop), place_(std::move(place)) {}

  Result<Sent> send(const Letter&) override;
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, std::chrono::milliseconds within) override;
  Status acknowledge(const std::string& ticket) override;
  void give_back(const std::string& ticket) override { lent_.erase(ticket); }
  Result<boost::json::object> inbox() override;

 private:
  /// The line that says to a worker, in whose inbox there is no field for it, which message of his is answered.
  Result<std::string> answered_line(const Letter&) const;
  void remember(const operations::LeadMessage&);
  /// Until there is a message, the time is over, or the daemon does not serve us.
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv_once(std::chrono::milliseconds within);
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv_over(ControlClient client,
                                                                 std::chrono::milliseconds within);
  boost::json::object shown(const operations::LeadMessage&) const;

  boost::asio::io_context& loop_;
  LeadPlace place_;
  struct Heard {
    std::string from;
    std::string beginning;  // what its sender recognizes it by
  };
  static constexpr std::size_t most_remembered = 1000;
  std::map<std::string, Heard> heard_;  // by message key: what was handed out
  std::deque<std::string> remembered_;  // those keys, the oldest first
  std::map<std::string, ControlClient> lent_;  // by message key: the connection that has it
};

/// As an actor's, and the lead's own tools where `[lead] mcp_tools` allows them: the daemon knows.
class LeadBackend : public ActorBackend {
 public:
  LeadBackend(boost::asio::io_context& loop, LeadBox& box, LeadPlace place)
      : ActorBackend(box, nullptr, ""), loop_(loop), place_(std::move(place)) {}

  /// Events go to the session too; it has a tool to acknowledge them.
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

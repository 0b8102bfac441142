// What the tools act on: the mailbox of an actor, or the daemon that serves a team for its lead.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "poller/cli/mcp/tools.hpp"
#include "poller/mailbox/actor_mail.hpp"

namespace inbox_poller::poller::cli::mcp {

/// What a tool gives. With a ticket there is a message in it that is only offered: whoever writes the answer out has to
/// acknowledge it, or to give it back.
struct Given {
  boost::json::object answer;
  std::string ticket;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// A list of tools is asked for: whatever has to be found out for it.
  virtual void before_list() {}
  /// Whether a client is shown this tool.
  virtual bool shows(const Tool&) = 0;
  /// What a model is told about all of them.
  [[nodiscard]] virtual std::string instructions() const = 0;
  /// An error is for the model. Cancelling it takes nothing along.
  virtual boost::asio::awaitable<Result<Given>> call(const Tool&, boost::json::object arguments) = 0;
  virtual Status acknowledge(const std::string& ticket) = 0;
  virtual void give_back(const std::string& ticket) = 0;
  /// Where the rest is of an answer that had to be cut.
  [[nodiscard]] virtual std::string whole(const Tool&) const = 0;
};

/// The tools of everybody and of an actor, over its operations.
class ActorBackend : public Backend {
 public:
  /// `tasks` is null for an actor without tasks.
  ActorBackend(ActorMail& mail, ActorTasks* tasks, std::string place)
      : mail_(mail), tasks_(tasks), place_(std::move(place)) {}

  bool shows(const Tool& tool) override { return tool.who == Who::everybody || (tool.who == Who::actor && tasks_ != nullptr); }
  [[nodiscard]] std::string instructions() const override;
  boost::asio::awaitable<Result<Given>> call(const Tool&, boost::json::object arguments) override;
  Status acknowledge(const std::string& ticket) override { return mail_.acknowledge(ticket); }
  void give_back(const std::string& ticket) override { mail_.give_back(ticket); }
  [[nodiscard]] std::string whole(const Tool&) const override { return "all of it is below " + place_; }

 private:
  ActorMail& mail_;
  ActorTasks* tasks_;
  std::string place_;
};

}  // namespace inbox_poller::poller::cli::mcp

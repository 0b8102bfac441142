// The target of the tools: the mailbox of an actor, or the daemon that serves a team for its lead.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "poller/cli/mcp/tools.hpp"
#include "poller/mailbox/actor_mail.hpp"

namespace inbox_poller::poller::cli::mcp {

/// The result of a tool. A ticket stands for a leased message in the answer. The writer of the answer must acknowledge
/// it or give it back.
struct Given {
  boost::json::object answer;
  std::string ticket;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Called before each list of tools, to find out what shows() needs.
  virtual void before_list() {}
  /// True if a client sees this tool.
  virtual bool shows(const Tool&) = 0;
  /// Text for the model about all tools.
  [[nodiscard]] virtual std::string instructions() const = 0;
  /// Runs a tool. An error's message is for the model. A canceled call takes no message.
  virtual boost::asio::awaitable<Result<Given>> call(const Tool&, boost::json::object arguments) = 0;
  virtual Status acknowledge(const std::string& ticket) = 0;
  virtual void requeue(const std::string& ticket) = 0;
  /// Names the place of the rest of an answer that was cut.
  [[nodiscard]] virtual std::string whole(const Tool&) const = 0;
};

/// Backend for an actor's own and common tools, over its mailbox.
class ActorBackend : public Backend {
 public:
  /// `tasks` is null for an actor without tasks.
  ActorBackend(ActorMail& mail, ActorTasks* tasks, std::string place)
      : mail_(mail), tasks_(tasks), place_(std::move(place)) {}

  bool shows(const Tool& tool) override { return tool.who == Who::everybody || (tool.who == Who::actor && tasks_ != nullptr); }
  [[nodiscard]] std::string instructions() const override;
  boost::asio::awaitable<Result<Given>> call(const Tool&, boost::json::object arguments) override;
  Status acknowledge(const std::string& ticket) override { return mail_.acknowledge(ticket); }
  void requeue(const std::string& ticket) override { mail_.requeue(ticket); }
  [[nodiscard]] std::string whole(const Tool&) const override { return "all of it is below " + place_; }

 private:
  ActorMail& mail_;
  ActorTasks* tasks_;
  std::string place_;
};

}  // namespace inbox_poller::poller::cli::mcp

// Tool calls of a headless lead, decided by the daemon's rules. Each call has a connection of its own, which closes
// when the call is withdrawn. Only an explicit "allow" allows a call.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

/// A tool call of the lead that needs a decision.
struct JudgedCall {
  std::string id;
  std::string tool;
  std::string input;
  std::string cwd;
};

struct Judgment {
  std::string id;
  bool allowed = false;
  std::string input;   // if allowed: the input to run
  std::string reason;  // if not allowed
};

class ToolJudge {
 public:
  using Tell = std::function<void(const Judgment&)>;

  ToolJudge(boost::asio::io_context& loop, std::string socket, Tell tell);

  /// Requests a decision, which goes to `tell`. No decision arrives if others answer the lead's prompts.
  void judge(JudgedCall call);
  /// Withdraws a call that no longer needs a decision.
  void withdraw(const std::string& id);
  void withdraw_all();
  /// Must be called when a daemon serves this team. Without `permissions` others answer the calls.
  void served(const std::string& team, bool permissions);
  void lost() { serves_ = false; }

 private:
  struct Judging {
    JudgedCall call;
    std::optional<ControlClient> client;
    bool over = false;
  };

  boost::asio::awaitable<void> see_to(std::shared_ptr<Judging> judging);
  /// Handles the answer. Does nothing after an error that a retry may avoid.
  void judged(Judging& judging, const Result<boost::json::object>& answer);
  void end(Judging& judging, const Judgment& judgment);
  boost::asio::awaitable<void> change();

  boost::asio::io_context& loop_;
  const std::string socket_;
  const Tell tell_;
  boost::asio::steady_timer changed_;
  std::string team_;
  bool serves_ = false;
  std::size_t asked_ = 0;
  std::map<std::string, std::shared_ptr<Judging>> judging_;
};

}  // namespace inbox_poller::poller::cli

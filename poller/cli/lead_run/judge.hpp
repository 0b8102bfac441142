// The tool calls of a headless lead, put before the rules: each over a connection of its own, which closes when nobody
// waits for the answer any more. Everything that is not plainly a yes is not one.
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

/// A tool call of the lead's that is to be judged.
struct JudgedCall {
  std::string id;
  std::string tool;
  std::string input;
  std::string cwd;
};

struct Judgement {
  std::string id;
  bool allowed = false;
  std::string input;   // when allowed: what is to run
  std::string reason;  // when not
};

class ToolJudge {
 public:
  using Tell = std::function<void(const Judgement&)>;

  ToolJudge(boost::asio::io_context& loop, std::string socket, Tell tell);

  /// The judgement comes when there is one; never, when the lead's prompts are not ours to answer.
  void judge(JudgedCall call);
  /// Nobody waits for it any more.
  void withdraw(const std::string& id);
  void withdraw_all();
  /// A daemon answers for this team. Without `permissions` the calls are somebody else's to answer.
  void served(const std::string& team, bool permissions);
  void lost() { serves_ = false; }

 private:
  struct Judging {
    JudgedCall call;
    std::optional<ControlClient> client;
    bool over = false;
  };

  boost::asio::awaitable<void> see_to(std::shared_ptr<Judging> judging);
  /// Empty: nothing to be told, or nothing yet.
  void judged(Judging& judging, const Result<boost::json::object>& answer);
  void end(Judging& judging, const Judgement& judgement);
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

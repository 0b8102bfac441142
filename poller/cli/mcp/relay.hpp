// Permission prompts of a session with a channel ("claude/channel/permission"). The client sends only the beginning of
// the input, so no rule decides. A person gets the prompt as an open request of the lead. The client's dialog stays
// open; the first answer wins.
// Invariant: only a person's decision goes back. After a deadline, a fault or an approval of another input the
// dialog stays open. Source: docs/reference/mcp.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <string>

#include "poller/cli/mcp/lead_box.hpp"

namespace inbox_poller::poller::cli::mcp {

class Relay {
 public:
  using Answer = std::function<void(boost::json::object params)>;
  using Complain = std::function<void(const std::string&)>;
  static constexpr int most_open = 32;

  /// Binds the relay to a loop, which must outlive it.
  Relay(boost::asio::io_context& loop, LeadPlace place, Answer answer, Complain complain);

  /// Handles a prompt of the client: `request_id`, `tool_name`, `description`, `input_preview`.
  void asked(const boost::json::object& params);

 private:
  boost::asio::awaitable<void> put_before_person(std::string id, boost::json::object request);
  void tell(const std::string& why);

  boost::asio::io_context& loop_;
  const LeadPlace place_;
  Answer answer_;
  Complain complain_;
  const std::string session_;  // the client's short ids repeat
  int count_ = 0;
  int open_ = 0;
  std::string told_;
};

}  // namespace inbox_poller::poller::cli::mcp

// The permission prompts of the session that a channel pushes into ("claude/channel/permission"). The client shows us
// only the beginning of what is to run, so no rule judges it: it is put before a person, as an open ask of the lead's.
// The dialog stays open meanwhile, and the first answer wins. Invariant: nothing but a person's word goes back; a
// deadline, a fault, and an approval of another input leave the dialog as it is. Source: docs/reference/mcp.md.
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

  /// The loop has to outlive it.
  Relay(boost::asio::io_context& loop, LeadPlace place, Answer answer, Complain complain);

  /// What the client says: `request_id`, `tool_name`, `description`, `input_preview`.
  void asked(const boost::json::object& params);

 private:
  boost::asio::awaitable<void> put_before_person(std::string id, boost::json::object request);
  void tell(const std::string& why);

  boost::asio::io_context& loop_;
  const LeadPlace place_;
  Answer answer_;
  Complain complain_;
  const std::string session_;  // the client's ids are short, and come again
  int count_ = 0;
  int open_ = 0;
  std::string told_;
};

}  // namespace inbox_poller::poller::cli::mcp

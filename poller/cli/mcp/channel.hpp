// Pushing messages into a session, for clients that have such a thing ("claude/channel"). Nothing acknowledges an event:
// it counts as delivered by assumption after a minute, unless the session calls `ack` with the key that it carries.
// After three such in a row nothing more goes this way until somebody calls it. Source: docs/reference/mcp.md.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "poller/cli/mail_stream.hpp"

namespace inbox_poller::poller::cli::mcp {

class Channel : public MailReader {
 public:
  using Push = std::function<void(boost::json::object params)>;
  static constexpr int most_unanswered = 3;

  Channel(boost::asio::io_context& loop, MailStream::Settings settings, Push push,
          std::function<void(const std::string&)> complain, std::chrono::milliseconds patience = std::chrono::minutes(1));

  /// The client has said that it is ready.
  void start();
  /// The session says that it has this one; false when it is none of ours, or late.
  bool acknowledge(const std::string& key);

 private:
  [[nodiscard]] std::size_t room() const override;
  void attached(const boost::json::object&) override {}
  void received(const boost::json::object& answer) override;
  bool lost(const Error& why, std::chrono::milliseconds since) override;
  void told(bool all) override;
  void watch();
  [[nodiscard]] bool silent() const { return unanswered_ >= most_unanswered; }

  boost::asio::io_context& loop_;
  const MailStream::Settings settings_;
  Push push_;
  std::function<void(const std::string&)> complain_;
  const std::chrono::milliseconds patience_;
  std::list<MailStream> streams_;  // the last one is the one that stands, if any does
  bool stands_ = false;
  std::map<std::string, std::chrono::steady_clock::time_point> out_;  // by key: until when
  int unanswered_ = 0;                                                // in a row
  std::string told_;
  boost::asio::steady_timer timer_;
};

}  // namespace inbox_poller::poller::cli::mcp

// Pushes messages into a session, for clients that support it ("claude/channel"). Nothing acknowledges an event itself.
// It counts as delivered, assumed, after a minute, unless the session calls `ack` with its key before. After three
// unacknowledged events in a row the channel pauses until `ack` is called. Source: docs/reference/mcp.md.
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

  /// Starts receiving; to be called when the client is ready.
  void start();
  /// Acknowledges an event for the session and ends a pause. False if the key is unknown or late.
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
  std::list<MailStream> streams_;  // the last one is the present one, if any
  bool stands_ = false;
  std::map<std::string, std::chrono::steady_clock::time_point> out_;  // by key: when the event counts as delivered
  int unanswered_ = 0;                                                // in a row
  std::string told_;
  boost::asio::steady_timer timer_;
};

}  // namespace inbox_poller::poller::cli::mcp

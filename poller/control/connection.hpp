// One connection of the control socket. A reader fills a bounded buffer; an answerer takes one line at a time from it.
// They are separate, because a disconnect must be noticed while a handler waits. Private to server.cpp.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "poller/control/answer_room.hpp"
#include "poller/control/frame.hpp"
#include "poller/control/server.hpp"

namespace inbox_poller::poller {

/// Builds a refusal in the protocol's format.
boost::json::object refusal(std::string_view code, std::string_view message);

class ControlConnection : public std::enable_shared_from_this<ControlConnection> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  ControlConnection(Socket socket, const ControlServer::Handler& handler, const ControlServer::Report& report,
                    const ControlLimits& limits, AnswerRoom& room);

  /// Reads and answers until the peer closes, a limit is exceeded, or stop(). Then runs the session's `on_close`
  /// functions and calls `ended`.
  void start(std::function<void()> ended);
  /// Ends the connection after the present request has been answered.
  void stop();
  /// Rank of an idle connection; the least is closed first. Connections without any request come first, then those
  /// without unread bytes, then the oldest. Empty while a request is answered, or if messages or a hook are attached.
  struct Idle {
    bool has_asked = false;
    bool has_unread = false;  // received bytes not yet parsed: perhaps a request
    boost::asio::steady_timer::time_point since = boost::asio::steady_timer::clock_type::now();
    bool operator<(const Idle& other) const {  // libc++ has no operator<=> for time_point yet
      return std::tie(has_asked, has_unread, since) < std::tie(other.has_asked, other.has_unread, other.since);
    }
  };
  [[nodiscard]] std::optional<Idle> idle() const;
  /// Ends an idle connection in favor of a new one; the peer reads `control.busy`.
  void give_way();

 private:
  boost::asio::awaitable<void> read();
  boost::asio::awaitable<void> answer_all();
  boost::asio::awaitable<bool> await_line();
  boost::asio::awaitable<void> answer(std::string_view line);
  /// Writes the line if the memory budget allows it, else a refusal.
  boost::asio::awaitable<void> write(std::string line);
  boost::asio::awaitable<void> write_out(std::string line);
  void peer_is_gone();
  void end(std::exception_ptr);
  void report_exception(std::exception_ptr) const;

  Socket socket_;
  ControlServer::Handler handler_;
  ControlServer::Report report_;
  ControlLimits limits_;
  AnswerRoom& answer_room_;
  std::shared_ptr<ControlSession> session_ = std::make_shared<ControlSession>();
  std::function<void()> ended_;

  FrameCutter received_;  // not yet taken by the answerer
  bool no_more_ = false;  // the reader has ended
  bool stopping_ = false;
  bool leaving_ = false;  // close once all received requests are answered
  bool answering_ = false;
  Idle idle_;
  bool mute_ = false;                  // a write has failed
  boost::asio::steady_timer arrival_;  // the answerer waits here; canceled when data arrives
  boost::asio::steady_timer room_;     // the reader waits here; canceled when a line was taken
  boost::asio::steady_timer write_limit_;
};

}  // namespace inbox_poller::poller

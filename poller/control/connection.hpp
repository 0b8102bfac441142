// One connection of the control socket: a reader that fills a bounded buffer, and an answerer that takes lines from it
// one at a time. Two, because the peer's going must be noticed while a handler waits. Not for use outside of
// server.cpp.
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

/// A refusal in the protocol's words.
boost::json::object refusal(std::string_view code, std::string_view message);

class ControlConnection : public std::enable_shared_from_this<ControlConnection> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  ControlConnection(Socket socket, const ControlServer::Handler& handler, const ControlServer::Report& report,
                    const ControlLimits& limits, AnswerRoom& room);

  /// Reads and answers until the peer closes, a limit is passed, or stop(). Then runs what waits for the end and calls
  /// `ended`.
  void start(std::function<void()> ended);
  /// Lets the request that is being answered finish, and ends the connection.
  void stop();
  /// How idle it is; nothing while a request is answered, or anything was lent or said over it. The least gives way first:
  /// who has never asked anything, of those who says nothing now, of those the oldest.
  struct Idle {
    bool has_asked = false;
    bool has_unread = false;  // bytes that we have not read yet: perhaps a request
    boost::asio::steady_timer::time_point since = boost::asio::steady_timer::clock_type::now();
    bool operator<(const Idle& other) const {  // libc++ compares no time_point in three ways yet
      return std::tie(has_asked, has_unread, since) < std::tie(other.has_asked, other.has_unread, other.since);
    }
  };
  [[nodiscard]] std::optional<Idle> idle() const;
  /// Ends an idle connection whose place another one gets; the peer reads `control.busy`.
  void give_way();

 private:
  boost::asio::awaitable<void> read();
  boost::asio::awaitable<void> answer_all();
  boost::asio::awaitable<bool> await_line();
  boost::asio::awaitable<void> answer(std::string_view line);
  /// Writes the line where there is room for it, and says so where there is none.
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
  bool leaving_ = false;  // once what has arrived is answered
  bool answering_ = false;
  Idle idle_;
  bool mute_ = false;                  // a write has failed
  boost::asio::steady_timer arrival_;  // the answerer waits here; cancelled when there is news
  boost::asio::steady_timer room_;     // the reader waits here; cancelled when a line was taken
  boost::asio::steady_timer write_limit_;
};

}  // namespace inbox_poller::poller

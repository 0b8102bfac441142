// Server of the control socket: accepts connections of our own user, splits lines, parses one JSON object per line, and
// writes the answer. The Handler implements the verbs (verbs.hpp). Source: docs/reference/control.md. Invariants: no
// frame over the limit is buffered; a slow, idle or hostile client costs one bounded connection. The socket file is
// replaced only when no daemon answers on it. Every complete request line is carried out, even if its sender did not
// wait for the answer. The executor must run one thing at a time (an io_context with one thread, or a strand).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "poller/control/client.hpp"
#include "poller/pause.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

struct LeaseHolder;  // in verbs.hpp
struct HookTalk;

/// One connection, as a handler sees it. Lives until the peer closes.
struct ControlSession {
  /// Called once, in order, when the connection has closed; they return leased messages.
  std::vector<std::function<void()>> on_close;
  /// True once the peer has closed or the server stops. A waiting handler must check it after each wait.
  bool closed = false;
  /// Raised when `closed` becomes true. A waiting handler may have it raised for other reasons, too.
  Signal news;
  void close() {
    closed = true;
    news.raise();
  }
  /// Process id of the peer, from the kernel; 0 when unknown.
  long long peer = 0;
  /// Delivery method for which this connection receives messages, set by verb `attach`; empty before.
  std::string method;
  /// Holder of the messages leased over this connection; null when there were none.
  std::shared_ptr<LeaseHolder> leased;
  /// State of the hook on this connection; null if no hook uses it.
  std::shared_ptr<HookTalk> hook;
  /// Beginning of a turn's text whose rest follows over this connection.
  std::string turn_text;
};

struct ControlLimits {
  std::size_t connections = 128;
  std::chrono::milliseconds half_line = std::chrono::seconds(10);  // from a line's first byte to its last
  std::chrono::milliseconds idle = std::chrono::minutes(10);       // without a request and without one being answered
  std::chrono::milliseconds write = std::chrono::seconds(10);      // until the peer has received one answer
  std::size_t unread = std::size_t{64} << 20;  // bytes of unread long answers, of all connections
  std::chrono::milliseconds unread_for = std::chrono::seconds(1);  // then an answer may be given up for another
};

class ControlServer {
 public:
  using Handler = std::function<boost::asio::awaitable<boost::json::object>(boost::json::object request,
                                                                            std::shared_ptr<ControlSession> session)>;
  /// Receives handled problems: `control.foreign_peer`, `control.busy`, `control.accept`, `control.replaced` and
  /// `control.exception`. The last is ours: a handler threw, its client was informed, and the daemon should drain.
  using Report = std::function<void(const Error&)>;

  /// Binds the socket and creates its directory with mode 0700. Errors name the path and the remedy; "control.in_use"
  /// when a daemon answers there.
  static Result<std::unique_ptr<ControlServer>> bind(boost::asio::any_io_executor, const std::string& path, Handler,
                                                     Report = {}, ControlLimits = {});
  virtual ~ControlServer() = default;

  /// Accepts connections until stop(); returns when every connection has ended.
  virtual boost::asio::awaitable<void> serve() = 0;
  /// Listens again if the file at the socket's path is not its socket (removed, moved or replaced). Connections
  /// continue. Call at intervals. Reports `control.replaced` after a success, or the error once.
  virtual void keep_place() = 0;
  /// Removes the socket, lets requests under way finish, and ends all connections.
  virtual void stop() = 0;
};

}  // namespace inbox_poller::poller

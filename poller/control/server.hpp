// The control socket's server: accepts connections of our own user, cuts lines, parses one JSON object a line, and
// writes the answer. What a verb means is the Handler's business (verbs.hpp). Source: docs/reference/control.md. Invariants: no
// frame over the limit is ever buffered; a slow, idle or hostile client costs one bounded connection and nothing else;
// the socket file is replaced only when nobody answers on it; every request that arrived as a complete line is carried
// out, also when its sender did not wait for the answer. The executor must be one that runs one thing at a time (an
// io_context with one thread, or a strand).
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

struct Borrower;  // of verbs.hpp
struct HookTalk;

/// One connection, as a handler sees it. Lives until the peer closes.
struct ControlSession {
  /// Run when the connection is gone, in order and once; for giving back what was lent over it.
  std::vector<std::function<void()>> on_close;
  /// True once the peer has closed (or the server stops): a handler that waits looks here after each wait.
  bool closed = false;
  /// Raised when that becomes so. A handler that waits may have it raised for other reasons, too.
  Signal news;
  void close() {
    closed = true;
    news.raise();
  }
  /// The process that connected, as the kernel tells it; 0 when it does not.
  long long peer = 0;
  /// The way at which this connection takes messages, once it has said so (verb `attach`); empty before.
  std::string way;
  /// The messages that were handed out over it; null when there were none.
  std::shared_ptr<Borrower> lent;
  /// What was said with a hook over it; null when it is none's.
  std::shared_ptr<HookTalk> hook;
};

struct ControlLimits {
  std::size_t connections = 128;
  std::chrono::milliseconds half_line = std::chrono::seconds(10);  // from a line's first byte to its last
  std::chrono::milliseconds idle = std::chrono::minutes(10);       // without a request and without one being answered
  std::chrono::milliseconds write = std::chrono::seconds(10);      // until the peer has taken one answer
  std::size_t unread = std::size_t{64} << 20;  // bytes of long answers that wait to be read, of all connections
  std::chrono::milliseconds unread_for = std::chrono::seconds(1);  // then an answer makes room for another
};

class ControlServer {
 public:
  using Handler = std::function<boost::asio::awaitable<boost::json::object>(boost::json::object request,
                                                                            std::shared_ptr<ControlSession> session)>;
  /// Told what went wrong and was handled: `control.foreign_peer`, `control.busy`, `control.accept`, `control.replaced`,
  /// and `control.exception`, which is ours: a handler threw, its client was told so, and the daemon should drain.
  using Report = std::function<void(const Error&)>;

  /// Binds the socket (creating its directory with mode 0700). Errors name the path and what to do; `control.in_use`
  /// when a daemon answers there.
  static Result<std::unique_ptr<ControlServer>> bind(boost::asio::any_io_executor, const std::string& path, Handler,
                                                     Report = {}, ControlLimits = {});
  virtual ~ControlServer() = default;

  /// Accepts until stop(); returns when every connection has ended.
  virtual boost::asio::awaitable<void> serve() = 0;
  /// Listens again when what has the socket's name now is not its socket: it was removed, moved or replaced. Connections
  /// go on. To be called now and then; `control.replaced` tells a new socket, other codes why there is none (once).
  virtual void keep_place() = 0;
  /// Removes the socket, lets requests that are being answered finish, and ends all connections.
  virtual void stop() = 0;
};

}  // namespace inbox_poller::poller

// The control socket's server: accepts connections of our own user, cuts lines, parses one JSON object a line, and writes the
// answer. What a verb means is the Handler's business (service.hpp). Source: docs/control.md.
// Invariants: no frame over the limit is ever buffered; a slow, idle or hostile client costs one bounded connection and nothing
// else; the socket file is replaced only when nobody answers on it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// One connection, as a handler sees it. Lives until the peer closes.
struct ControlSession {
  /// Run when the connection is gone, in order; for giving back what was lent over it.
  std::vector<std::function<void()>> on_close;
  /// True once the peer has closed: a handler that waits looks here after each wait.
  bool closed = false;
};

class ControlServer {
 public:
  using Handler = std::function<boost::asio::awaitable<boost::json::object>(boost::json::object request,
                                                                            std::shared_ptr<ControlSession> session)>;

  /// Binds the socket (creating its directory with mode 0700). Errors name the path and what to do.
  static Result<std::unique_ptr<ControlServer>> bind(boost::asio::any_io_executor, const std::string& path, Handler);
  virtual ~ControlServer() = default;

  /// Accepts until stop(); returns when every connection has ended.
  virtual boost::asio::awaitable<void> serve() = 0;
  virtual void stop() = 0;
};

}  // namespace inbox_poller::poller

// HTTP for one page: reads requests, calls a handler, and keeps a connection open for a stream. It knows no route.
// Limits: header 16 KiB, body 64 KiB, 64 connections without a session, 128 with one, 30 s for a request.
// A new connection closes the oldest of its kind at the limit. Only http.cpp includes Beast, which compiles longer
// than the rest of the command line.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::poller::cli::web {

using Text = std::shared_ptr<const std::string>;

/// Server-sent events for one open page, in order. A page that does not read them loses the stream, and gets everything
/// again when it reconnects.
class Stream {
 public:
  explicit Stream(boost::asio::io_context& loop) : wake_(loop) {}

  void push(Text event);
  void close();
  /// Waits for the next event. Returns a comment after a quiet time, and null at the end.
  boost::asio::awaitable<Text> next();

 private:
  boost::asio::steady_timer wake_;
  std::deque<Text> waiting_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

/// A request; an absent header is empty.
struct Request {
  std::string method;
  std::string path;
  std::string query;  // after the "?"
  std::string host, origin, fetch_site, fetch_mode, fetch_dest, content_type, cookie, token;
  std::string body;
};

struct Reply {
  unsigned status = 200;
  std::string type = "application/json";
  Text text = std::make_shared<const std::string>();
  std::string set_cookie = {};
  std::shared_ptr<Stream> stream = {};  // instead of a text
};

using Answer = std::function<boost::asio::awaitable<Reply>(Request)>;
/// True for a request with an open session.
using HasSession = std::function<bool(const Request&)>;

class HttpServer {
 public:
  HttpServer(boost::asio::io_context& loop, Answer answer, HasSession has_session);
  ~HttpServer();

  /// Listens on an address such as 127.0.0.1 or ::1; port 0: any free one. Errors: "web.address", "web.listen".
  Status listen(const std::string& address, unsigned short port);
  /// Listens on an open socket of a service manager. Error "web.listen".
  Status adopt(int socket);
  [[nodiscard]] unsigned short port() const;
  void start();

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

/// Returns the value of a name in a query, percent signs decoded; empty when absent.
std::string from_query(std::string_view query, std::string_view name);

}  // namespace inbox_poller::poller::cli::web

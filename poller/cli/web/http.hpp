// HTTP for one page: takes requests, hands each to whoever answers, and keeps a stream open where the answer is one.
// Knows no route and no ask. Bounds: header 16 KiB, body 64 KiB, 64 connections without a session, 128 with one, 30 s for a
// request. The oldest connection of its kind leaves when another one comes. Beast is compiled in http.cpp only: it takes
// longer than the rest of the command line together.
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

/// What is told to one open page: server-sent events, in order. Whoever does not take them loses the stream, and gets
/// everything when it comes back.
class Stream {
 public:
  explicit Stream(boost::asio::io_context& loop) : wake_(loop) {}

  void push(Text event);
  void close();
  /// The next ones; a comment when there was nothing for a while; null when it is over.
  boost::asio::awaitable<Text> next();

 private:
  boost::asio::steady_timer wake_;
  std::deque<Text> waiting_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

/// A header that is absent is empty.
struct Request {
  std::string method;
  std::string path;
  std::string query;  // behind the "?"
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
/// Whether a request is of somebody who was let in.
using HasSession = std::function<bool(const Request&)>;

class HttpServer {
 public:
  HttpServer(boost::asio::io_context& loop, Answer answer, HasSession has_session);
  ~HttpServer();

  /// Listens on an address such as 127.0.0.1 or ::1; port 0 is any that is free.
  Status listen(const std::string& address, unsigned short port);
  /// Listens on a socket that somebody opened for us.
  Status adopt(int socket);
  [[nodiscard]] unsigned short port() const;
  void start();

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

/// The value of a name in a query, percent signs resolved; empty when absent.
std::string from_query(std::string_view query, std::string_view name);

}  // namespace inbox_poller::poller::cli::web

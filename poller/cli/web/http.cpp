#include "poller/cli/web/http.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>

namespace inbox_poller::poller::cli::web {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds request_within{30};
constexpr std::chrono::seconds heartbeat{15};
constexpr std::uint32_t most_header = 16 << 10;
constexpr std::uint64_t most_body = 64 << 10;
constexpr std::size_t most_strangers = 64;  // connections without a session
constexpr std::size_t most_known = 128;     // with one
constexpr std::size_t most_leaving = 64;    // closed, and their answer still under way
constexpr std::size_t most_waiting = std::size_t{32} << 20;  // bytes of events that a page has not read

using Parser = http::request_parser<http::string_body>;

/// Sets headers for every response: no foreign scripts or resources, no caching, no framing.
void add_safety(http::fields& to) {
  to.set("Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  to.set("X-Content-Type-Options", "nosniff");
  to.set("X-Frame-Options", "DENY");
  to.set("Referrer-Policy", "no-referrer");
  to.set("Cross-Origin-Opener-Policy", "same-origin");
  to.set("Cross-Origin-Resource-Policy", "same-origin");
  to.set(http::field::cache_control, "no-store");
}

Request read(Parser& parser) {
  auto& message = parser.get();
  const auto field = [&](std::string_view name) {
    // A repeated header counts as absent, because its valid value is unclear.
    return message.count(name) == 1 ? std::string(message[name]) : std::string();
  };
  Request request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  request.host = field("Host");
  request.origin = field("Origin");
  request.fetch_site = field("Sec-Fetch-Site");
  request.fetch_mode = field("Sec-Fetch-Mode");
  request.fetch_dest = field("Sec-Fetch-Dest");
  request.content_type = field("Content-Type");
  request.cookie = field("Cookie");
  request.token = field("X-Inbox-Poller-Token");
  request.body = std::move(message.body());
  return request;
}

/// Returns the HTTP status for an unreadable request; 0: the connection has ended.
unsigned status_of(const error_code& problem) {
  if (problem == http::error::body_limit) return 413;
  if (problem == http::error::header_limit || problem == http::error::buffer_overflow) return 431;
  if (problem.category() == make_error_code(http::error::bad_method).category() &&
      problem != http::error::end_of_stream && problem != http::error::partial_message)
    return 400;
  return 0;
}

}  // namespace

void Stream::push(Text event) {
  if (closed_) return;
  bytes_ += event->size();
  if (bytes_ > most_waiting) return close();
  waiting_.push_back(std::move(event));
  wake_.cancel();
}

void Stream::close() {
  closed_ = true;
  waiting_.clear();
  wake_.cancel();
}

asio::awaitable<Text> Stream::next() {
  static const Text still_there = std::make_shared<const std::string>(":\n\n");
  if (waiting_.empty() && !closed_) {
    error_code ignored;
    wake_.expires_after(heartbeat);
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (closed_) co_return nullptr;
  if (waiting_.empty()) co_return still_there;
  Text text = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= text->size();
  co_return text;
}

/// The server's state, shared with every connection, because the loop may destroy a coroutine after the server.
struct HttpServer::Core : std::enable_shared_from_this<Core> {
  Core(asio::io_context& its_loop, Answer its_answer, HasSession judge)
      : loop(its_loop), acceptor(its_loop), pause(its_loop), answer(std::move(its_answer)), has_session(std::move(judge)) {}

  /// A connection while it is served.
  struct Place {
    beast::tcp_stream* stream = nullptr;
    bool is_known = false;  // a request with a session came over it
    bool leaves = false;
  };

  [[nodiscard]] std::size_t count(bool is_known) const {
    return static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [&](const Place& one) {
      return one.is_known == is_known && !one.leaves;
    }));
  }

  /// Closes the oldest connection of this kind if there are too many.
  void make_room(bool is_known, std::size_t most) {
    if (count(is_known) < most) return;
    const auto oldest = std::find_if(places.begin(), places.end(), [&](const Place& one) {
      return one.is_known == is_known && !one.leaves;
    });
    if (oldest == places.end()) return;
    oldest->leaves = true;
    oldest->stream->close();
  }

  void know(Place& place) {
    if (place.is_known || place.leaves) return;
    make_room(true, most_known);
    place.is_known = true;
  }

  static asio::awaitable<void> accept(std::shared_ptr<Core> core) {
    for (;;) {
      error_code problem;
      tcp::socket socket = co_await core->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, problem));
      if (!core->acceptor.is_open()) co_return;
      if (problem) core->make_room(false, 1);  // no descriptor is left
      if (problem || core->places.size() >= most_strangers + most_known + most_leaving) {
        core->pause.expires_after(std::chrono::milliseconds(100));
        co_await core->pause.async_wait(asio::redirect_error(asio::use_awaitable, problem));
        continue;
      }
      core->make_room(false, most_strangers);
      asio::co_spawn(core->loop, serve(core, beast::tcp_stream(std::move(socket))), [](std::exception_ptr) {});
    }
  }

  static asio::awaitable<void> serve(std::shared_ptr<Core> core, beast::tcp_stream stream) {
    const auto place = core->places.insert(core->places.end(), Place{&stream});
    const auto leave = [place](Core* one) { one->places.erase(place); };
    const std::unique_ptr<Core, decltype(leave)> counted(core.get(), leave);
    beast::flat_buffer buffer(most_header + most_body);
    for (;;) {
      Parser parser;
      parser.header_limit(most_header);
      parser.body_limit(most_body);
      error_code problem;
      stream.expires_after(request_within);
      co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, problem));
      Reply reply;
      reply.status = problem ? status_of(problem) : 200;
      if (reply.status == 0) break;
      const bool keeps = !problem && parser.get().keep_alive();
      if (!problem) {
        Request request = read(parser);
        if (core->has_session(request)) core->know(*place);
        auto answering = core->answer(std::move(request));
        reply = co_await std::move(answering);
      }
      if (!reply.set_cookie.empty()) core->know(*place);
      if (reply.stream) {
        co_await hold(stream, *reply.stream);
        break;
      }
      http::response<http::string_body> response(http::int_to_status(reply.status), 11);
      add_safety(response);
      response.set(http::field::content_type, reply.type);
      if (!reply.set_cookie.empty()) response.set(http::field::set_cookie, reply.set_cookie);
      response.body() = *reply.text;
      response.keep_alive(keeps);
      response.prepare_payload();
      stream.expires_after(request_within);
      co_await http::async_write(stream, response, asio::redirect_error(asio::use_awaitable, problem));
      if (problem || !keeps) break;
    }
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  static asio::awaitable<void> hold(beast::tcp_stream& stream, Stream& events) {
    http::response<http::empty_body> head(http::status::ok, 11);
    add_safety(head);
    head.set(http::field::content_type, "text/event-stream");
    head.keep_alive(false);
    error_code problem;
    http::response_serializer<http::empty_body> serializer(head);
    stream.expires_after(request_within);
    co_await http::async_write_header(stream, serializer, asio::redirect_error(asio::use_awaitable, problem));
    while (!problem) {
      const Text text = co_await events.next();
      if (!text) break;
      stream.expires_after(request_within);
      const auto bytes = asio::buffer(*text);
      co_await asio::async_write(stream, bytes, asio::redirect_error(asio::use_awaitable, problem));
    }
    events.close();
  }

  asio::io_context& loop;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  Answer answer;
  HasSession has_session;
  std::list<Place> places;  // oldest first
};

HttpServer::HttpServer(asio::io_context& loop, Answer answer, HasSession has_session)
    : core_(std::make_shared<Core>(loop, std::move(answer), std::move(has_session))) {}

HttpServer::~HttpServer() {
  error_code ignored;
  core_->acceptor.close(ignored);
  core_->pause.cancel();
}

Status HttpServer::listen(const std::string& address, unsigned short port) {
  error_code problem;
  const auto ip = asio::ip::make_address(address, problem);
  if (problem) return Error{"web.address", "\"" + address + "\" is not an IP address"};
  const tcp::endpoint at(ip, port);
  auto& acceptor = core_->acceptor;
  acceptor.open(at.protocol(), problem);
  if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor.bind(at, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem)
    return Error{"web.listen", "listening on " + address + " port " + std::to_string(port) + ": " + problem.message() +
                                   "; --listen takes another port, 0 is any that is free"};
  return Done{};
}

Status HttpServer::adopt(int socket) {
  error_code problem;
  core_->acceptor.assign(tcp::v4(), socket, problem);
  if (problem) return Error{"web.listen", "the socket that was handed over: " + problem.message()};
  return Done{};
}

unsigned short HttpServer::port() const {
  error_code ignored;
  return core_->acceptor.local_endpoint(ignored).port();
}

void HttpServer::start() {
  asio::co_spawn(core_->loop, Core::accept(core_), [](std::exception_ptr) {});
}

std::string from_query(std::string_view query, std::string_view name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (one.size() <= name.size() || !one.starts_with(name) || one[name.size()] != '=') continue;
    one.remove_prefix(name.size() + 1);
    std::string value;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const bool escaped = one[i] == '%' && i + 2 < one.size() && digit(one[i + 1]) >= 0 && digit(one[i + 2]) >= 0;
      value += escaped ? static_cast<char>(digit(one[i + 1]) * 16 + digit(one[i + 2])) : one[i];
      i += escaped ? 2 : 0;
    }
    return value;
  }
  return {};
}

}  // namespace inbox_poller::poller::cli::web

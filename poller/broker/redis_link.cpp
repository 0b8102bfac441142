#include "poller/broker/redis_link.hpp"

#ifdef INBOX_POLLER_REDIS
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <utility>
#endif

namespace inbox_poller::poller {

#ifdef INBOX_POLLER_REDIS

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using config::RedisAddress;

namespace {

Error down(const RedisAddress& address, const error_code& problem) {
  return {"redis.down", "Redis at " + address.shown() + " is not reached: " + problem.message()};
}

template <class Stream>
class StreamLink : public RedisLink {
 public:
  template <class... Arguments>
  explicit StreamLink(RedisAddress address, Arguments&&... arguments)
      : address_(std::move(address)), stream_(std::forward<Arguments>(arguments)...) {}

  asio::awaitable<Status> write(std::string_view bytes) override {
    error_code problem;
    co_await asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, problem));
    if (problem) co_return down(address_, problem);
    co_return Done{};
  }

  asio::awaitable<Result<std::size_t>> read(std::span<char> room) override {
    error_code problem;
    const std::size_t size = co_await stream_.async_read_some(asio::buffer(room.data(), room.size()),
                                                              asio::redirect_error(asio::use_awaitable, problem));
    if (problem) co_return down(address_, problem);
    co_return size;
  }

  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 protected:
  asio::awaitable<error_code> connect_over_tcp() {
    error_code problem;
    tcp::resolver resolver(stream_.get_executor());
    // An IP address needs neither a name server nor the resolver's thread.
    const auto number = asio::ip::make_address(address_.host, problem);
    if (!problem) {
      co_await stream_.lowest_layer().async_connect(tcp::endpoint(number, address_.port),
                                                    asio::redirect_error(asio::use_awaitable, problem));
    } else {
      const auto found = co_await resolver.async_resolve(address_.host, std::to_string(address_.port),
                                                         asio::redirect_error(asio::use_awaitable, problem));
      if (!problem)
        co_await asio::async_connect(stream_.lowest_layer(), found,
                                     asio::redirect_error(asio::use_awaitable, problem));
    }
    error_code ignored;
    if (!problem) stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    if (!problem) stream_.lowest_layer().set_option(asio::socket_base::keep_alive(true), ignored);
    co_return problem;
  }

  const RedisAddress address_;
  Stream stream_;
};

class UnixLink final : public StreamLink<asio::local::stream_protocol::socket> {
 public:
  using StreamLink::StreamLink;
  asio::awaitable<Status> open() override {
    if (address_.path.size() > 107)
      co_return Error{"redis.denied", "Redis at " + address_.shown() + ": a socket's path has at most 107 bytes"};
    error_code problem;
    co_await stream_.async_connect(asio::local::stream_protocol::endpoint(address_.path),
                                   asio::redirect_error(asio::use_awaitable, problem));
    if (problem) co_return down(address_, problem);
    co_return Done{};
  }
};

class TcpLink final : public StreamLink<tcp::socket> {
 public:
  using StreamLink::StreamLink;
  asio::awaitable<Status> open() override {
    const error_code problem = co_await connect_over_tcp();
    if (problem) co_return down(address_, problem);
    co_return Done{};
  }
};

class TlsLink final : public StreamLink<asio::ssl::stream<tcp::socket>> {
 public:
  TlsLink(const RedisAddress& address, const asio::any_io_executor& executor,
          std::shared_ptr<asio::ssl::context> trusted)
      : StreamLink(address, executor, *trusted), trusted_(std::move(trusted)) {}

  asio::awaitable<Status> open() override {
    error_code problem = co_await connect_over_tcp();
    if (problem) co_return down(address_, problem);
    stream_.set_verify_mode(asio::ssl::verify_peer, problem);
    if (!problem) stream_.set_verify_callback(asio::ssl::host_name_verification(address_.host), problem);
    if (problem) co_return Error{"redis.denied", "TLS with Redis at " + address_.shown() + " cannot be checked: " + problem.message()};
    SSL_set_tlsext_host_name(stream_.native_handle(), address_.host.c_str());
    co_await stream_.async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, problem));
    if (!problem) co_return Done{};
    if (problem.category() != asio::error::get_ssl_category()) co_return down(address_, problem);
    co_return Error{"redis.denied", "TLS with Redis at " + address_.shown() + " failed: " + problem.message() +
                                           "; the certificate has to be for \"" + address_.host +
                                           "\" and signed by who stands in the file of ca="};
  }

 private:
  std::shared_ptr<asio::ssl::context> trusted_;
};

Result<std::shared_ptr<asio::ssl::context>> trusted_by(const RedisAddress& address) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code problem;
  context->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, problem);
  if (problem) return Error{"redis.denied", "TLS 1.0 and 1.1 cannot be turned off: " + problem.message()};
  if (address.ca.empty())
    context->set_default_verify_paths(problem);
  else
    context->load_verify_file(address.ca, problem);
  if (!problem) return context;
  return Error{"redis.denied", "the trusted certificates in " + address.ca + " cannot be read: " + problem.message()};
}

}  // namespace

Result<std::shared_ptr<RedisLink>> make_redis_link(const asio::any_io_executor& executor, const RedisAddress& address) {
  using Made = std::shared_ptr<RedisLink>;
  if (address.scheme == RedisAddress::Scheme::unix_socket) return Made(std::make_shared<UnixLink>(address, executor));
  if (address.scheme == RedisAddress::Scheme::tcp) return Made(std::make_shared<TcpLink>(address, executor));
  TRY(auto trusted, trusted_by(address));
  return Made(std::make_shared<TlsLink>(address, executor, std::move(trusted)));
}

#else

Result<std::shared_ptr<RedisLink>> make_redis_link(const boost::asio::any_io_executor&, const config::RedisAddress&) {
  return Error{"redis.unfit", "this program was built without Redis: install libhiredis-dev and build it with "
                                 "-DINBOX_POLLER_REDIS=ON"};
}

#endif

}  // namespace inbox_poller::poller

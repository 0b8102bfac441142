// Byte stream of one connection over a Unix socket, TCP or TLS. close() ends every pending operation.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "config/redis_address.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// One connection; single use, and all calls on the thread of its executor.
class RedisLink {
 public:
  virtual ~RedisLink() = default;
  /// Connects. With TLS, checks that the certificate is for this host and signed by a trusted CA.
  /// Errors: "redis.down", "redis.denied" (TLS, or a socket path over 107 bytes).
  virtual boost::asio::awaitable<Status> open() = 0;
  /// Writes all bytes. Errors: "redis.down".
  virtual boost::asio::awaitable<Status> write(std::string_view) = 0;
  /// Reads at least one byte and returns the count. Errors: "redis.down".
  virtual boost::asio::awaitable<Result<std::size_t>> read(std::span<char>) = 0;
  /// Closes the connection; pending calls return "redis.down".
  virtual void close() = 0;
};

/// Creates a link that is not connected yet. Errors: "redis.unfit" in a build without Redis, "redis.denied" if
/// the file of trusted certificates cannot be read.
Result<std::shared_ptr<RedisLink>> make_redis_link(const boost::asio::any_io_executor&, const config::RedisAddress&);

}  // namespace inbox_poller::poller

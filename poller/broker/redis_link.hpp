// A connection's bytes, over a Unix socket, TCP or TLS. Whoever closes it ends whatever is under way on it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "config/engine_address.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

class RedisLink {
 public:
  virtual ~RedisLink() = default;
  /// Connects; with TLS the certificate is for this host and signed by who is trusted. "exchange.down",
  /// "exchange.denied".
  virtual boost::asio::awaitable<Status> open() = 0;
  virtual boost::asio::awaitable<Status> write(std::string_view) = 0;
  /// At least one byte.
  virtual boost::asio::awaitable<Result<std::size_t>> read(std::span<char>) = 0;
  virtual void close() = 0;
};

/// Not connected yet. "exchange.unfit" when this program was built without Redis; "exchange.denied" for a file of trusted
/// certificates that cannot be used.
Result<std::shared_ptr<RedisLink>> make_redis_link(const boost::asio::any_io_executor&, const config::EngineAddress&);

}  // namespace inbox_poller::poller

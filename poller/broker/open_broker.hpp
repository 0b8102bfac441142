// Opens the Broker that a team's configuration names. No other place turns a configuration into a Broker.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "config/config.hpp"
#include "config/redis_address.hpp"
#include "poller/broker/broker.hpp"

namespace inbox_poller::poller {

/// Address of Redis and the user of this node, from [cluster]. Errors: "redis.address".
Result<config::RedisAddress> redis_of(const config::ClusterSettings&);

/// Opens the Broker without connecting; connection errors come from its calls. Errors: those of redis_of(), as text
/// for people.
Result<std::unique_ptr<Broker>> open_broker(const boost::asio::any_io_executor&, const config::ClusterSettings&);

}  // namespace inbox_poller::poller

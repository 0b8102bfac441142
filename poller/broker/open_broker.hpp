// Opens the Broker that a team's configuration names. No other place turns a configuration into a Broker.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "config/config.hpp"
#include "config/engine_address.hpp"
#include "poller/broker/broker.hpp"

namespace inbox_poller::poller {

/// Address of Redis and the user of this host, from [cluster]. Errors: "exchange.address".
Result<config::EngineAddress> engine_of(const config::HostsSettings&);

/// Opens the Broker without connecting; connection errors come from its calls. Errors: those of engine_of(), as text
/// for people.
Result<std::unique_ptr<Broker>> open_exchange(const boost::asio::any_io_executor&, const config::HostsSettings&);

}  // namespace inbox_poller::poller

// Which engine stands between the hosts of a team, opened. The one place that turns a configuration into an Exchange.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "config/config.hpp"
#include "config/engine_address.hpp"
#include "poller/broker/broker.hpp"

namespace inbox_poller::poller {

/// Where it is, and as whom this host logs in.
Result<config::EngineAddress> engine_of(const config::HostsSettings&);

/// An error says, for people, why there is none: a build without it, an address that is none.
Result<std::unique_ptr<Broker>> open_exchange(const boost::asio::any_io_executor&, const config::HostsSettings&);

}  // namespace inbox_poller::poller

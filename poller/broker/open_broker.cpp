#include "poller/broker/open_broker.hpp"

#include <set>

#include "poller/broker/access.hpp"
#include "poller/broker/redis_broker.hpp"

namespace inbox_poller::poller {

Result<config::EngineAddress> engine_of(const config::HostsSettings& hosts) {
  TRY(auto address, config::parse_engine_address(hosts.engine + "#" + hosts.id));
  address.secret = hosts.secret;
  address.ca = hosts.ca;
  if (!hosts.secret.empty()) address.user = user_of_host(hosts.host);
  return address;
}

Result<std::unique_ptr<Broker>> open_exchange(const boost::asio::any_io_executor& executor,
                                                const config::HostsSettings& hosts) {
  TRY(auto address, engine_of(hosts));
  RedisBroker::Settings settings;
  settings.address = std::move(address);
  settings.host = hosts.host;
  std::set<std::string> team(hosts.leads.begin(), hosts.leads.end());
  team.insert(hosts.host);
  for (const auto& [host, members] : hosts.members) team.insert(host);
  settings.team.assign(team.begin(), team.end());
  return std::unique_ptr<Broker>(std::make_unique<RedisBroker>(executor, std::move(settings)));
}

}  // namespace inbox_poller::poller

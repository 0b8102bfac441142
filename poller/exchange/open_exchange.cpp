#include "poller/exchange/open_exchange.hpp"

#include <set>

#include "poller/exchange/access.hpp"
#include "poller/exchange/redis_exchange.hpp"

namespace inbox_poller::poller {

Result<config::EngineAddress> engine_of(const config::HostsSettings& hosts) {
  TRY(auto address, config::parse_engine_address(hosts.engine + "#" + hosts.id));
  address.secret = hosts.secret;
  address.ca = hosts.ca;
  if (!hosts.secret.empty()) address.user = user_of_host(hosts.host);
  return address;
}

Result<std::unique_ptr<Exchange>> open_exchange(const boost::asio::any_io_executor& executor,
                                                const config::HostsSettings& hosts) {
  TRY(auto address, engine_of(hosts));
  RedisExchange::Settings settings;
  settings.address = std::move(address);
  settings.host = hosts.host;
  std::set<std::string> team(hosts.leads.begin(), hosts.leads.end());
  team.insert(hosts.host);
  for (const auto& [host, members] : hosts.members) team.insert(host);
  settings.team.assign(team.begin(), team.end());
  return std::unique_ptr<Exchange>(std::make_unique<RedisExchange>(executor, std::move(settings)));
}

}  // namespace inbox_poller::poller

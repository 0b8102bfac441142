#include "poller/broker/open_broker.hpp"

#include <set>

#include "poller/broker/access.hpp"
#include "poller/broker/redis_broker.hpp"

namespace inbox_poller::poller {

Result<config::RedisAddress> redis_of(const config::ClusterSettings& nodes) {
  TRY(auto address, config::parse_redis_address(nodes.redis_url + "#" + nodes.id));
  address.secret = nodes.secret;
  address.ca = nodes.ca;
  if (!nodes.secret.empty()) address.user = user_of_node(nodes.node);
  return address;
}

Result<std::unique_ptr<Broker>> open_broker(const boost::asio::any_io_executor& executor,
                                                const config::ClusterSettings& nodes) {
  TRY(auto address, redis_of(nodes));
  RedisBroker::Settings settings;
  settings.address = std::move(address);
  settings.node = nodes.node;
  std::set<std::string> team(nodes.leads.begin(), nodes.leads.end());
  team.insert(nodes.node);
  for (const auto& [node, members] : nodes.members) team.insert(node);
  settings.team.assign(team.begin(), team.end());
  return std::unique_ptr<Broker>(std::make_unique<RedisBroker>(executor, std::move(settings)));
}

}  // namespace inbox_poller::poller

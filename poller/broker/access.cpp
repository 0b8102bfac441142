#include "poller/broker/access.hpp"

#include <set>

#include "poller/broker/broker.hpp"
#include "poller/broker/redis_keys.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace {

constexpr const char* of_all = "resetkeys resetchannels -@all +ping +info";

/// Rights of a node that may not lead. Each pair of parentheses is a selector: its commands apply to its keys only.
std::string follower(const RedisKeys& keys, const std::string& node) {
  const std::string written = keys.stream("*", node);
  const std::string marks = keys.mark(node, "*", "*");
  const std::string read = keys.stream(node_address(node), "*");
  std::string rights = of_all;
  rights += " (+eval +evalsha +xadd ~" + written + ")";                    // appends to its own streams
  rights += " (+eval +evalsha ~" + written + " ~" + marks + ")";           // and sets the marker, in one script
  rights += " (+set +exists ~" + marks + ")";
  rights += " (+eval +evalsha +xreadgroup +xack +xpending +xclaim +xgroup|create +xtrim +xinfo|groups +time ~" + read + ")";
  rights += " (+set ~" + keys.node(node) + ")";                            // sends its heartbeat
  rights += " (+sadd %W~" + keys.of("nodes") + ") (+smembers %R~" + keys.of("nodes") + ")";
  rights += " (+get +getrange +pttl %R~" + keys.of("leader") + " %R~" + keys.of("epoch") + " %R~" + keys.of("born") + " %R~" +
            keys.node("*") + ")";
  return rights;
}

std::string leader(const RedisKeys& keys) {
  return std::string(of_all) +
         " +eval +evalsha +time +get +getrange +set +del +exists +pttl +pexpire +hset +hget +hmget +sadd +smembers +sismember +zadd "
         "+zrem +zscore +zcard +zrange +zrangebyscore +xadd +xdel +xread +xreadgroup +xack +xpending +xclaim +xgroup|create +xtrim +xrange "
         "+xinfo|groups +xinfo|stream ~" +
         keys.of("*");
}

}  // namespace

std::string user_of_node(const std::string& node) { return "node-" + node; }

Result<std::string> access_list(const std::string& team, const std::vector<NodeAccess>& nodes,
                                const std::string& admin_sha256) {
  if (!schema::is_valid_name(team))
    return Error{"name.invalid", "\"" + team + "\" cannot be a team's name: use A-Z a-z 0-9 _ -, at most 64 characters"};
  const RedisKeys keys(team);
  // Nobody can be `default`. Redis replays its append-only file as that user, and without rights it would read nothing of it.
  std::string text = "user default off resetpass ~* &* +@all\nuser admin on #" + admin_sha256 + " ~* &* +@all\n";
  std::set<std::string> named;
  for (const NodeAccess& one : nodes) {
    if (!schema::is_valid_name(one.node) || one.node == RedisKeys::shared_box || one.node == "admin")
      return Error{"name.invalid", "\"" + one.node + "\" cannot be a node's name: use A-Z a-z 0-9 _ -, at most 64 characters, but not \"box\" or \"admin\""};
    if (!named.insert(one.node).second) return Error{"name.invalid", "node " + one.node + " is named twice"};
    text += "user " + user_of_node(one.node) + " on #" + one.password_sha256 + ' ' +
            (one.may_lead ? leader(keys) : follower(keys, one.node)) + '\n';
  }
  return text;
}

}  // namespace inbox_poller::poller

#include "poller/broker/broker_facts.hpp"

#include <algorithm>
#include <initializer_list>

namespace inbox_poller::poller {

namespace {

constexpr int oldest_major = 7;  // first version with key permissions by direction and the commands of our scripts

std::string_view value_in(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find('\n', at), info.size());
    std::string_view line = info.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      return line.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

}  // namespace

BrokerFacts BrokerFacts::read(std::string_view info) {
  BrokerFacts facts;
  facts.run_id = value_in(info, "run_id");
  facts.replication_id = value_in(info, "master_replid");
  facts.is_replica = value_in(info, "role") == "slave";
  facts.is_loading = value_in(info, "loading") == "1";
  facts.writes_log = value_in(info, "aof_enabled") == "1";
  facts.evicts = value_in(info, "maxmemory_policy");
  facts.log_fails = value_in(info, "aof_last_write_status") == "err";
  RedisReply version{RedisReply::Kind::text, 0, std::string(value_in(info, "redis_version")), {}};
  version.text = version.text.substr(0, version.text.find('.'));
  facts.major = static_cast<int>(std::clamp(version.as_number(), 0LL, 1000LL));
  return facts;
}

Status BrokerFacts::usable(bool not_durable_is_meant) const {
  if (major < oldest_major)
    return Error{"redis.unfit", "Redis 7.0 is the oldest that will do, this is " + std::to_string(major)};
  // Checked before appendonly, because aof_enabled is 0 while Redis loads.
  if (is_loading) return Error{"redis.down", "it still loads what it kept"};
  if (is_replica)
    return Error{"redis.down", "it is a replica at this moment and takes nothing: name the primary, or promote it"};
  if (not_durable_is_meant) return Done{};
  if (!writes_log)
    return Error{
        "redis.unfit",
        "appendonly is off: what Redis confirms is lost with its process.  Set `appendonly yes` and `appendfsync "
        "always` in redis.conf, or say that you mean it: accept_risks redis-not-durable"};
  if (evicts != "noeviction")
    return Error{"redis.unfit", "maxmemory-policy is " + evicts +
                                       ": it drops mail when its memory is full. Set `maxmemory-policy noeviction`, or "
                                       "say that you mean it: accept_risks redis-not-durable"};
  return Done{};
}

std::vector<std::string> BrokerFacts::worries() const {
  std::vector<std::string> told;
  if (!writes_log) told.emplace_back("Redis keeps no log (appendonly no): what only it has is gone with its process");
  if (evicts != "noeviction")
    told.push_back("Redis drops keys when its memory is full (maxmemory-policy " + evicts + ")");
  if (log_is_synced == "everysec")
    told.emplace_back("Redis syncs its log once a second (appendfsync everysec): a crash loses about the last one");
  if (log_is_synced == "no")
    told.emplace_back("Redis never syncs its log (appendfsync no): a power cut loses what the system had not written");
  if (log_fails) told.emplace_back("Redis could not write its log: its disk is full or broken");
  return told;
}

Error error_of(const RedisReply& reply) {
  const std::string& text = reply.text;
  const auto begins = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
  };
  const auto said = [&](const char* code) { return Error{code, "Redis says: " + text.substr(0, 300)}; };
  if (begins({"NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH "}) ||
      text.find("can't run this command") != std::string::npos ||
      text.find("can't access at least one of the keys") != std::string::npos ||
      text.find("ACL failure in script") != std::string::npos)
    return said("redis.denied");
  if (begins({"OOM", "MISCONF"})) return said("redis.full");
  if (begins({"LOADING", "MASTERDOWN", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "BUSY ", "NOREPLICAS",
              "ERR max number of clients"}))
    return said("redis.down");
  return said("redis.fault");
}

}  // namespace inbox_poller::poller

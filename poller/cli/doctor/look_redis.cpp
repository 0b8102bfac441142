// Examination of a team whose mail is in a Redis: whether the Redis is reachable and suitable, and mail that nobody
// reads. Changes nothing.
#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/broker/open_broker.hpp"
#include "poller/broker/redis_scripts.hpp"
#include "poller/broker/redis_tasks.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds redis_patience{2000};
constexpr const char* most_boxes = "500";

std::string mend_of(const Error& error, const config::TeamConfig& config) {
  if (error.code == "redis.down") return "start it, or check redis_url under [team] in " + printable(config.source);
  if (error.code == "redis.denied") return "user= and secret= in redis_url under [team] in " + printable(config.source) + ", and its users: docs/how-to/redis.md";
  if (error.code == "redis.unfit") return "its settings: docs/how-to/redis.md";
  return "";
}

/// Checks one mailbox, as the script returns it.
void look_at_box(const RedisReply& box, const std::string& place, Findings& findings) {
  const std::string name = box.at(0).text;
  const std::string where = place + "/" + printable(name);
  if (!is_actor_name(name))
    findings.push_back({Severity::warning, "actor.name", "is the box of a name that is not served (A-Z a-z 0-9 _ -, at most 64)",
                        where, "give the agent another name"});
  if (box.parts.size() == 2)
    findings.push_back({Severity::error, "box.foreign", "does not hold a stream: another program writes there", where, ""});
  const bool was_read = box.parts.size() > 2 && !box.at(1).text.empty();
  if (const long long waiting = box.at(3).as_number(); box.parts.size() > 2 && !was_read && waiting > 0)
    findings.push_back({Severity::warning, "mail.never_read",
                        std::to_string(waiting) + " letters wait here, and none was ever taken: is the name right?", where, ""});
}

}  // namespace

Findings examine_engine(const config::TeamConfig& config) {
  const auto address = redis_of(config.cluster);
  if (!address) return {{Severity::error, address.error().code, address.error().message, "", ""}};
  RedisCaller redis(*address, redis_patience);
  const auto leader = redis.call(RedisCommand{"GET", RedisKeys(address->team).of("leader")});  // allowed for every node
  if (leader) return {};
  const bool is_denied = leader.error().code == "redis.denied";
  return {{Severity::error, leader.error().code, printable(leader.error().message), address->shown(),
           is_denied ? "name the file of user " + address->user + " in `cluster.secret`; `inbox-poller nodes acl --secrets DIR` makes it" : ""}};
}

Section examine_redis(const config::TeamConfig& config) {
  Section section{config.team.name, config.team.name, {}};
  Findings& findings = section.findings;
  const config::RedisAddress& address = config.team.redis;
  const std::string place = address.shown();
  RedisCaller redis(address, redis_patience);
  const RedisKeys keys(address.team);
  const auto boxes = redis.call(scripts::boxes(), {keys.of("boxes")},
                                {keys.of("in:"), ':' + std::string(RedisKeys::shared_box), "", most_boxes});
  const RedisTasks tasks(redis, keys, place, {});
  const auto counts = boxes ? tasks.counts() : Result<TaskCounts>(boxes.error());
  if (!counts) {
    findings.push_back({Severity::error, counts.error().code, printable(counts.error().message), place,
                        mend_of(counts.error(), config)});
    return section;
  }
  findings.push_back({Severity::ok, "redis.reached", "Redis answers", place, ""});
  for (const std::string& worry : redis.connection().facts().worries())
    findings.push_back({Severity::warning, "redis.settings", worry, place, "its settings: docs/how-to/redis.md"});
  for (const RedisReply& box : boxes->parts)
    if (box.at(0).text != config.team.lead) look_at_box(box, place, findings);
  if (counts->dead > 0)
    findings.push_back({Severity::note, "task.dead", std::to_string(counts->dead) + " dead letters", place,
                        "inbox-poller tasks --dead --root " + shell_word(place)});
  return section;
}

}  // namespace inbox_poller::poller::cli

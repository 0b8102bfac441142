// Roster of a Redis team, and its task reports.
#include <boost/json.hpp>

#include "poller/broker/redis_mailbox.hpp"

namespace inbox_poller::poller {

namespace json = boost::json;

namespace {

constexpr std::size_t most_names = 500;

}  // namespace

bool RedisMailbox::meet(const std::string& name) {
  if (names_.size() >= most_names || !names_.insert(name).second) return false;
  roster_is_read_ = false;
  json::array names;
  for (const std::string& one : names_) names.emplace_back(one);
  copy_.bytes = json::serialize(names);
  return true;
}

void RedisMailbox::remember_roster(RosterCopy copy) {
  boost::system::error_code problem;
  const json::value names = json::parse(copy.bytes, problem);
  if (problem || !names.is_array()) return;
  for (const json::value& one : names.get_array())
    if (one.is_string()) meet(std::string(one.get_string()));
}

bool RedisMailbox::roster_changed() { return !roster_is_read_; }

Result<schema::Roster> RedisMailbox::roster() {
  if (names_.empty() && settings_.members.empty() && away_) return Error{"roster.unreadable", away_->message};
  schema::Roster roster;
  roster.name = settings_.team;
  roster.lead_agent_id = settings_.lead;
  const std::set<std::string> fixed(settings_.members.begin(), settings_.members.end());
  for (const std::string& name : fixed.empty() ? names_ : fixed) {
    if (name == settings_.lead) continue;
    if (!is_actor_name(name)) {
      roster.unreachable.push_back({name, "its name cannot be an actor's: use A-Z a-z 0-9 _ -, at most 64 characters, no - in front"});
      continue;
    }
    schema::Member member;
    member.name = member.agent_id = name;
    member.backend_type = "redis";
    roster.members.push_back(std::move(member));
  }
  roster_is_read_ = true;
  newcomers_.clear();
  return roster;
}

WriteReceipt RedisMailbox::remove_member(const std::string& name) {
  return {WriteStatus::gone, name + " is there as long as its box is: that is its own"};
}

// --- tasks

Result<TaskCounts> RedisMailbox::counts() const {
  if (away_) return *away_;
  if (!counts_) return Error{"redis.down", "the tasks in " + place_ + " were not counted yet"};
  return *counts_;
}

Result<TaskSweep> RedisMailbox::sweep() {
  sweep_wanted_ = true;
  if (away_ && swept_.gone.empty()) return *away_;
  return TaskSweep{std::exchange(swept_.gone, {}), swept_.troubles};
}

Result<std::vector<TaskFile>> RedisMailbox::finished(long long since_ns) {
  finished_since_ms_ = since_ns / 1'000'000;
  return std::exchange(finished_, {});
}

}  // namespace inbox_poller::poller

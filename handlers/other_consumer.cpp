#include "handlers/other_consumer.hpp"

#include <algorithm>

namespace inbox_poller::handlers {
namespace {

constexpr std::ptrdiff_t signs_that_convince = 2;

}  // namespace

bool are_believed(const std::vector<config::Duration>& ages) {
  return std::count_if(ages.begin(), ages.end(), [](auto age) { return age <= sign_lasts; }) >= signs_that_convince;
}

std::optional<EffectiveRole> role_beside(config::OnCompetingConsumer choice) {
  switch (choice) {
    case config::OnCompetingConsumer::stop: return EffectiveRole::paused;
    case config::OnCompetingConsumer::observe: return EffectiveRole::observer;
    case config::OnCompetingConsumer::ignore: break;
  }
  return std::nullopt;
}

bool follows_nodes(EffectiveRole role) {
  return role == EffectiveRole::leader || role == EffectiveRole::standby || role == EffectiveRole::follower;
}

bool reads_anew(EffectiveRole before, EffectiveRole now) {
  const auto speaks = Right::notify_lead;  // also while stopped: accepted messages stay InboxPoller's
  return before != now && !(rights_of(before, speaks) && rights_of(now, speaks));
}

bool gave_way(config::Role role, EffectiveRole now) {
  return effective_role(role) == EffectiveRole::leader && now != EffectiveRole::leader;
}

}  // namespace inbox_poller::handlers

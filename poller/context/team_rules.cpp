#include "poller/context/team_rules.hpp"

#include <algorithm>
#include <utility>

#include "config/rules.hpp"

namespace inbox_poller::poller {

void TeamRules::restore(std::vector<SessionRule> all) {
  all_ = std::move(all);
  rebuild();
}

bool TeamRules::has(const SessionRule& rule) const {
  const auto rules = of_session();
  return std::any_of(rules.begin(), rules.end(), [&](const SessionRule& other) {
    return other.kind == rule.kind && other.action == rule.action && other.rule == rule.rule;
  });
}

std::vector<SessionRule> TeamRules::of_session() const {
  auto rules = all_;
  std::erase_if(rules, [&](const SessionRule& rule) { return rule.session != roster_.lead_session_id; });
  return rules;
}

void TeamRules::apply(SessionRule rule) {
  all_.push_back(std::move(rule));
  rebuild();
}

void TeamRules::drop(long long id) {
  std::erase_if(all_, [id](const SessionRule& rule) { return rule.id == id; });
  rebuild();
}

void TeamRules::rebuild() {
  ++version_;
  permissions_ = config_.permissions.rules;
  hosts_ = config_.sandbox.hosts;
  for (const auto& session : of_session()) {
    const bool allow = session.action == "allow";
    if (session.kind != handlers::RuleKind::host) {
      if (auto rule = config::parse_permission_rule(session.rule))
        (allow ? permissions_.allow : permissions_.deny).push_back(std::move(*rule));
    } else if (auto pattern = config::parse_host_pattern(session.rule)) {
      (allow ? hosts_.allow : hosts_.deny).push_back(std::move(*pattern));
    }
  }
}

}  // namespace inbox_poller::poller

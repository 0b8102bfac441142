#include "handlers/whose_box.hpp"

#include <algorithm>

namespace inbox_poller::handlers {
namespace {

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

BoxOf whose_box(std::string_view box, std::string_view lead, const config::TeamConfig& config, bool is_known) {
  if (box == lead) return BoxOf::lead;
  if (names(config.team.aliases, box)) return BoxOf::alias;
  return is_known || names(config.delivery.allowed_senders, box) ? BoxOf::somebody : BoxOf::nobody;
}

bool watches_all(const Membership& membership, const config::BackendFacts& facts) {
  return membership.role == EffectiveRole::observer && !facts.asks;
}

}  // namespace inbox_poller::handlers

// A competing consumer of the lead's inbox: when its signs are believed, and the role next to it. Pure. Source:
// docs/adr/0009.
#pragma once

#include <optional>
#include <vector>

#include "handlers/rights.hpp"

namespace inbox_poller::handlers {

/// The time that a sign counts: two uses of a tool in a month are no consumer.
inline constexpr std::chrono::minutes sign_lasts{10};

/// Returns true if these signs, given by their ages, are believed. One sign may be a tool that a person used.
bool are_believed(const std::vector<config::Duration>& ages);

/// Returns the role next to a competing consumer; empty if the configuration ignores such consumers.
std::optional<EffectiveRole> role_beside(config::OnCompetingConsumer);

/// Returns true if the nodes decide the role. A competing consumer takes precedence over them.
bool follows_nodes(EffectiveRole);
/// Returns true if the change makes InboxPoller another reader of the lead's inbox. Unread messages are then shown
/// again.
bool reads_anew(EffectiveRole before, EffectiveRole now);
/// Returns true for a configured leader that is not the leader at present.
bool gave_way(config::Role, EffectiveRole now);

}  // namespace inbox_poller::handlers

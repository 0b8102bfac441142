// Another consumer of the lead's inbox: when its signs are believed, and what we are beside it. Pure. Source:
// docs/adr/0009.
#pragma once

#include <optional>
#include <vector>

#include "handlers/rights.hpp"

namespace inbox_poller::handlers {

/// So long a sign is remembered: two tools that a person used in a month are no consumer.
inline constexpr std::chrono::minutes sign_lasts{10};

/// True when these signs, each by its age, are believed: one may be a tool that a person used.
bool are_believed(const std::vector<config::Duration>& ages);

/// What we become beside one; empty when the operator says that it does not matter.
std::optional<EffectiveRole> stance_beside(config::ForeignConsumer);

/// True where hosts say how we stand; a consumer that was met here goes before their word.
bool follows_hosts(EffectiveRole);
/// True when the change makes us another reader of the lead's inbox: what is still unread is then shown again.
bool reads_anew(EffectiveRole before, EffectiveRole now);
/// True for a leader that is none any more since it met a consumer.
bool gave_way(config::Role, EffectiveRole now);

}  // namespace inbox_poller::handlers

// JSON codec of the heartbeat that each node sends every 3 s. A node may be hostile, so sizes are bounded.
// A heartbeat speaks only for members of its own node, unless that node leads. Pure functions.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "poller/cluster/node_state.hpp"

namespace inbox_poller::poller {

/// Limit of the entries of each shutdown list in one heartbeat.
inline constexpr std::size_t most_ends = 200;

/// Encodes a heartbeat. `own` describes this node, `members` are its local members. Orders and removed members are
/// included only if `own.leads`.
std::string beat_text(const NodeState&, const SeenHost& own, boost::json::array members);

/// Parses the heartbeat of `node`; empty if it is malformed or longer than `longest_beat`.
/// Reads epoch, orders and removed members only if the node leads and may lead.
std::optional<SeenHost> read_beat(const config::ClusterSettings&, const std::string& node, std::string_view told,
                                  const std::string& lead);

}  // namespace inbox_poller::poller

// JSON codec of the heartbeat that each host sends every 3 s. A host may be hostile, so sizes are bounded.
// A heartbeat speaks only for members of its own host, unless that host leads. Pure functions.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "poller/hosts/host_state.hpp"

namespace inbox_poller::poller {

/// Limit of the entries of each shutdown list in one heartbeat.
inline constexpr std::size_t most_ends = 200;

/// Encodes a heartbeat. `own` describes this host, `members` are its local members. Orders and removed members are
/// included only if `own.leads`.
std::string beat_text(const HostState&, const SeenHost& own, boost::json::array members);

/// Parses the heartbeat of `host`; empty if it is malformed or longer than `longest_beat`.
/// Reads epoch, orders and removed members only if the host leads and may lead.
std::optional<SeenHost> read_beat(const config::HostsSettings&, const std::string& host, std::string_view told,
                                  const std::string& lead);

}  // namespace inbox_poller::poller

// What hosts tell of themselves every few seconds: as JSON, and back. What is read is what a host says, and a host may be
// hostile: it is bounded, and says nothing of members that are not its own, unless it leads. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "poller/hosts/host_state.hpp"

namespace inbox_poller::poller {

/// Of each kind, in one beat.
inline constexpr std::size_t most_ends = 200;

/// `own`: what is told of this host; `members`: of those who live here.
std::string beat_text(const HostState&, const SeenHost& own, boost::json::array members);

/// None when it is not to be understood. Orders, and who was taken out, only from a host that may lead.
std::optional<SeenHost> read_beat(const config::HostsSettings&, const std::string& host, std::string_view told,
                                  const std::string& lead);

}  // namespace inbox_poller::poller

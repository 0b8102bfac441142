// An approval request as text for the lead session: all that an approval would allow, and the commands that answer it.
// Text from agents follows "| " and has its invisible characters escaped, so that it cannot pass for text of
// InboxPoller. Pure.
#pragma once

#include <string>
#include <string_view>

#include "handlers/outgoing.hpp"

namespace inbox_poller::handlers {

/// Returns the message type under which the lead gets a request of this kind, such as "permission_requested".
std::string request_type(RequestKind);
inline constexpr std::string_view closed_type = "request_closed";

/// Returns true for the message types that only InboxPoller may use: requests, their ends, and digests. A worker's
/// message of such a type is refused.
bool is_type_of_ours(std::string_view type);

/// Returns the request as a message to the lead. A text longer than limits.message is not cut. The message then shows
/// nothing of the request, and names the command that shows all of it.
Notice request_notice(const Request& pending, const TeamView&, EpochMs now_ms);

/// Returns the message that a request which the lead has seen is closed.
Notice closed_notice(const Request& decided, const TeamView&, EpochMs now_ms);

}  // namespace inbox_poller::handlers

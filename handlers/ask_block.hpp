// An ask as text for the lead session: all that an approval would allow, and the commands that answer it. What agents
// wrote stands behind "| ", with invisible characters spelled out, so that nothing in it passes for a word of ours.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "handlers/outgoing.hpp"

namespace inbox_poller::handlers {

/// "permission_ask": the message type under which the lead gets an ask of this kind.
std::string ask_type(AskKind);
inline constexpr std::string_view closed_type = "ask_closed";

/// True for the message types that only we give, so that no worker's message passes for one of ours: asks, their ends,
/// and digests.
bool is_type_of_ours(std::string_view type);

/// The ask as put before the lead. What would be longer than limits.message is not cut: then it says so, shows nothing
/// of what is asked, and names the command that shows all of it.
Notice ask_notice(const Ask& pending, const TeamView&, EpochMs now_ms);

/// That an ask which the lead has seen is closed without it.
Notice closed_notice(const Ask& decided, const TeamView&, EpochMs now_ms);

}  // namespace inbox_poller::handlers

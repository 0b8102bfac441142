// Versions of the client, and from which on it takes what a settings file says of hooks. An older client does not pass
// over an event that it does not know: it skips the whole file, its permissions included. Sources: the client's public
// changelog and hooks reference; runs of 2.1.50, 2.1.78, 2.1.100, 2.1.139, 2.1.186, 2.1.329 and 2.1.330 (docs/leads.md,
// "Which hooks a client knows").
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Major, minor, patch; compares as versions do.
using ClientVersion = std::array<int, 3>;

/// The oldest that we know, and what an unknown one counts as.
inline constexpr ClientVersion oldest_client{2, 1, 50};
/// From here on handlers have `args` (before, a program is started without them) and a text of `asyncRewake` reaches
/// the model (2.1.50 even waits for such a hook to end).
inline constexpr ClientVersion takes_arguments{2, 1, 139};

/// What `--version` prints, such as "2.1.50 (Claude Code)"; none for anything that does not begin with three numbers.
std::optional<ClientVersion> parse_client_version(std::string_view text);
std::string to_string(const ClientVersion&);

/// Whether this version tells a subagent's events from the session's own (`agent_id`, since 2.1.69 by the public
/// changelog). Not for what is no version.
bool names_subagents(std::string_view version);

/// Whether a file with this event is one that this version reads.
bool takes_event(const ClientVersion&, std::string_view event);

}  // namespace inbox_poller::schema

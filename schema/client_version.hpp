// Versions of the client, and what it does from which version on: one table, which `hook install`, the daemon, `doctor`
// and docs/reference/hooks.md read. An older client does not pass over an event that it does not know: it skips the whole file, its
// permissions included. Sources: the client's public changelog and hooks reference; runs of 2.1.50, 2.1.78, 2.1.100,
// 2.1.139, 2.1.141, 2.1.150, 2.1.156, 2.1.162, 2.1.163, 2.1.186, 2.1.220 and 2.1.329 to 2.1.331.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Major, minor, patch; compares as versions do.
using ClientVersion = std::array<int, 3>;

/// The oldest that we know, and what an unknown one counts as.
inline constexpr ClientVersion oldest_client{2, 1, 50};
/// What not every client does.
enum class Ability {
  names_subagents,     // a subagent's events say so (`agent_id`); before, a tool's event may be one's
  passes_over_events,  // an event that it does not know is passed over; before, the whole file is skipped
  takes_arguments,     // a handler's `args`; before, the program is started without them
  is_woken,            // the text of an `asyncRewake` hook reaches the model; 2.1.50 waits for such a hook to end
  keeps_session_file,  // sessions/<pid>.json in its configuration folder, while it lives
  takes_stop_context,  // a Stop hook's `additionalContext`; 2.1.50 refuses all of an output with it
  transcribes_hooks,   // its transcript has all that hooks add, so that what is not there was not given
};
struct AbilitySince {
  Ability ability;
  ClientVersion since;
  std::string_view told;  // a few words, as docs/reference/hooks.md has them
};
/// The table. Each ability once, older ones first.
std::span<const AbilitySince> abilities();
ClientVersion since(Ability);
bool can(const ClientVersion&, Ability);
/// Not for what is no version.
bool can(std::string_view version, Ability);

/// What `--version` prints, such as "2.1.50 (Claude Code)"; none for anything that does not begin with three numbers.
std::optional<ClientVersion> parse_client_version(std::string_view text);
std::string to_string(const ClientVersion&);

/// What a client says of itself in its hooks' environment (AI_AGENT), "claude-code_2-1-141_harness"; none for anything else.
/// 2.1.139 and later.
std::optional<ClientVersion> parse_agent(std::string_view text);

/// Whether a file with this event is one that this version reads.
bool takes_event(const ClientVersion&, std::string_view event);

}  // namespace inbox_poller::schema

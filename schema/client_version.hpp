// Client versions and the features that each one introduced: one table for `hook install`, the daemon, `doctor` and
// docs/reference/hooks.md. Older clients skip a whole settings file, with its permissions, if it has an unknown event.
// Sources: the client's public changelog and hooks reference; runs of 2.1.50, 2.1.78, 2.1.100, 2.1.139, 2.1.141,
// 2.1.150, 2.1.156, 2.1.162, 2.1.163, 2.1.186, 2.1.220 and 2.1.329 to 2.1.331.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Major, minor and patch; compares like versions.
using ClientVersion = std::array<int, 3>;

/// The oldest known version. An unknown version counts as this one.
inline constexpr ClientVersion oldest_client{2, 1, 50};
/// A feature that not every client has.
enum class Ability {
  names_subagents,     // a subagent's events have `agent_id`; before, a tool's event may be a subagent's
  passes_over_events,  // ignores an unknown event; before, it skips the whole file
  takes_arguments,     // a handler's `args`; before, the program starts without them
  is_woken,            // the text of an `asyncRewake` hook reaches the model; 2.1.50 waits for such a hook to end
  keeps_session_file,  // sessions/<pid>.json in its configuration directory, while it lives
  takes_stop_context,  // a Stop hook's `additionalContext`; 2.1.50 refuses the whole output with it
  transcribes_hooks,   // its transcript has all output of hooks, so a missing text was not given
};
struct AbilitySince {
  Ability ability;
  ClientVersion since;
  std::string_view told;  // a few words for docs/reference/hooks.md
};
/// Returns the table. Each ability once, older ones first.
std::span<const AbilitySince> abilities();
ClientVersion since(Ability);
bool can(const ClientVersion&, Ability);
/// Returns false for an invalid version.
bool can(std::string_view version, Ability);

/// Parses the output of `--version`, such as "2.1.50 (Claude Code)"; nothing if the text does not begin with three
/// numbers.
std::optional<ClientVersion> parse_client_version(std::string_view text);
std::string to_string(const ClientVersion&);

/// Parses the client's AI_AGENT variable in its hooks' environment: "claude-code_2-1-141_harness" (2.1.139 and later).
/// Nothing for any other text.
std::optional<ClientVersion> parse_agent(std::string_view text);

/// Returns true if this version reads a settings file with this event.
bool takes_event(const ClientVersion&, std::string_view event);

}  // namespace inbox_poller::schema

// InboxPoller's hooks in a client's settings file, added and removed by changing only their own bytes. The lead's and
// the workers' hooks are separate. Source: docs/reference/hooks.md. A handler is InboxPoller's if its program is named
// so and its first argument is "hook", in `args` or in the command line. Invariant: without_hooks() removes to the last
// byte what with_hooks() adds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/client_version.hpp"
#include "schema/error.hpp"

namespace inbox_poller::schema {

/// Returns true if the file's name contains "inbox-poller", because packagers add to the name.
bool is_our_program(std::string_view path);

/// The sessions that the hooks are for. Both kinds run in every session that reads the file; the daemon knows whose it
/// is.
enum class HookUser { lead, worker };

struct HookProgram {
  std::string path;                  // absolute; is_our_program(), so that its hooks are found again
  std::vector<std::string> options;  // for each call, such as --team demo
  HookUser user = HookUser::lead;
  ClientVersion client = oldest_client;  // the oldest client that reads the file
};

/// Returns a settings file with only InboxPoller's hooks.
std::string hook_settings(const HookProgram&);

/// Returns the settings with the present hooks, which replace older ones for the same user. Returns the same bytes if
/// they are there already. Error: "settings.syntax" with the line.
Result<std::string> with_hooks(std::string_view settings, const HookProgram&);

/// Returns the settings without the hooks for this user, or any; nothing if the file never had other contents.
Result<std::optional<std::string>> without_hooks(std::string_view settings, std::optional<HookUser> = std::nullopt);

/// One handler in a settings file, InboxPoller's or not.
struct SettingsHook {
  std::string event;
  std::optional<HookUser> ours;
  bool has_arguments = false;  // in `args`, which old clients ignore
  bool wakes = false;          // asyncRewake, which old clients ignore
  std::string program = {};    // of InboxPoller's handlers: the program as called
};
/// Returns all handlers, and once each event without any. Error: "settings.syntax".
Result<std::vector<SettingsHook>> hooks_in(std::string_view settings);

/// Returns the events of the hooks for this user in a client of this version.
std::vector<std::string_view> hook_events(HookUser, const ClientVersion&);

}  // namespace inbox_poller::schema

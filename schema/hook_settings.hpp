// Our hooks in a client's settings file, put in and taken out by changing only their own bytes; those of the lead's
// sessions and those of the workers' beside each other. Source: docs/reference/hooks.md. Ours are the
// handlers whose command is our program, by its name, with "hook" as its first argument, whether that stands in `args`
// or in the command's own line. Invariant: what with_hooks() adds, without_hooks() removes to the last byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/client_version.hpp"
#include "schema/error.hpp"

namespace inbox_poller::schema {

/// The file's name holds "inbox-poller"; packagers put things around it.
bool is_our_program(std::string_view path);

/// Whose sessions the hooks are for. Both kinds run in every session that reads the file; the daemon knows whose it is.
enum class HookUser { lead, worker };

struct HookProgram {
  std::string path;                  // absolute; is_our_program(), or its hooks would never be found again
  std::vector<std::string> options;  // for each call, such as --team demo
  HookUser user = HookUser::lead;
  ClientVersion client = oldest_client;  // the oldest that will read the file
};

/// A settings file with nothing but our hooks.
std::string hook_settings(const HookProgram&);

/// The settings with our hooks as they are now; older ones of ours for the same user are replaced. Nothing changes when
/// they are there already. Error "settings.syntax" with the line.
Result<std::string> with_hooks(std::string_view settings, const HookProgram&);

/// The settings without our hooks for this user, or any; none when nothing else was ever in the file.
Result<std::optional<std::string>> without_hooks(std::string_view settings, std::optional<HookUser> = std::nullopt);

/// One handler that a settings file has, ours or not.
struct SettingsHook {
  std::string event;
  std::optional<HookUser> ours;
  bool has_arguments = false;  // in a list of their own, which old clients pass over
  bool wakes = false;          // likewise asyncRewake
  std::string program = {};    // of ours: as it is called
};
/// All of them, and each event without any once. Error "settings.syntax".
Result<std::vector<SettingsHook>> hooks_in(std::string_view settings);

/// The events that our hooks for this user have in a client of this version.
std::vector<std::string_view> hook_events(HookUser, const ClientVersion&);

}  // namespace inbox_poller::schema

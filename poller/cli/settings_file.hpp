// A client's settings file: location, contents, atomic replacement. Source: the client's public settings reference.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

/// Suffix of the copy that is kept of a changed settings file.
inline constexpr std::string_view backup_ending = ".inbox-poller-backup";

/// A settings file as read, with links resolved.
struct Settings {
  std::filesystem::path folder;
  std::string name;
  std::optional<std::string> text;  // empty: no such file
  unsigned mode = 0600;

  [[nodiscard]] std::filesystem::path path() const { return folder / name; }
};

/// Returns the file of a scope: "project" in the working directory, "user" in CLAUDE_CONFIG_DIR or HOME. Error
/// "control.bad_path".
Result<std::filesystem::path> settings_path(const std::string& scope);

/// Returns the folder of an administrator's settings for all users of the machine.
std::string managed_settings_folder();

/// A setting that keeps this program's hooks from running.
struct HookSilence {
  std::string file;
  std::string key;        // empty: the file is unreadable, so its settings are unknown
  bool is_certain = true;  // false: documented by the clients for managed settings only
  std::string problem = {};  // why the file is unreadable
};

/// Describes the setting as a sentence, without the file.
std::string to_string(const HookSilence&);

/// Lists settings that disable hooks in sessions that begin in `folder`, and unreadable settings files. For
/// `disableAllHooks` the file of the highest precedence counts (managed, local, project, user); `allowManagedHooksOnly`
/// counts in each. Changes nothing.
std::vector<HookSilence> silenced_hooks(FileSystem&, const std::filesystem::path& folder,
                                        const std::filesystem::path& managed = managed_settings_folder());

/// Reads a settings file; a missing one has no text. Error "settings.unusable" names the path.
Result<Settings> read_settings(FileSystem&, const std::filesystem::path& named);

/// Replaces the file atomically by `text`, or removes it. A copy of the old file is kept next to it.
Status write_settings(FileSystem&, const Settings&, const std::optional<std::string>& text);

/// Builds the error "settings.unusable" with the message "PATH: what".
Error settings_fault(const std::filesystem::path&, const std::string& what);

}  // namespace inbox_poller::poller::cli

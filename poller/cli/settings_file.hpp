// A client's settings file: where it is, as it is, and put back whole. Source: the client's public settings reference.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

/// What stands behind a settings file's name where a copy of it is kept that we are about to change.
inline constexpr std::string_view backup_ending = ".inbox-poller-backup";

/// The settings file as it is, wherever a link leads.
struct Settings {
  std::filesystem::path folder;
  std::string name;
  std::optional<std::string> text;  // none: no such file
  unsigned mode = 0600;

  [[nodiscard]] std::filesystem::path path() const { return folder / name; }
};

/// The file of `scope`: "project" is below the working directory, "user" in CLAUDE_CONFIG_DIR or HOME.
Result<std::filesystem::path> settings_path(const std::string& scope);

/// Where an administrator keeps settings that hold for every user of the machine.
std::string managed_settings_folder();

/// A setting that keeps our hooks from running.
struct HookSilence {
  std::string file;
  std::string key;        // empty: the file cannot be read, so what it turns off is not known
  bool is_certain = true;  // false: the clients' documentation has the key for managed settings only
};

/// Says so as a sentence, without the file.
std::string to_string(const HookSilence&);

/// What keeps our hooks from running in sessions that begin in `folder`: `disableAllHooks`, of which the file of the
/// highest precedence counts (managed, local, project, user), and `allowManagedHooksOnly`. Reads those files only.
std::vector<HookSilence> silenced_hooks(FileSystem&, const std::filesystem::path& folder,
                                        const std::filesystem::path& managed = managed_settings_folder());

/// Error "settings.unusable" names the path.
Result<Settings> read_settings(FileSystem&, const std::filesystem::path& named);

/// All of `text`, or no file; what was there is kept beside it. In its place at once, or not at all.
Status write_settings(FileSystem&, const Settings&, const std::optional<std::string>& text);

/// "settings.unusable: PATH: what".
Error settings_fault(const std::filesystem::path&, const std::string& what);

}  // namespace inbox_poller::poller::cli

// A change of a client's settings file in steps: show it, confirm it, write it, report it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "poller/cli/command.hpp"
#include "poller/cli/settings_file.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

/// Returns the path of this program, links resolved; error "settings.unusable".
Result<std::string> program_path();

struct SettingsChange {
  std::filesystem::path file;
  bool yes = false;  // write without confirmation
  /// Returns the file's new text; an empty optional removes the file.
  std::function<Result<std::optional<std::string>>(const Settings&)> change;
  /// Returns an error if the change is not allowed; called before anything is shown.
  std::function<Status(const std::string& path)> allowed = [](const std::string&) { return Status(Done{}); };
  std::string more;              // text printed after the result; empty: none
  operations::SettingsChanged also = {};  // with --json
};

/// Shows the difference, asks for confirmation, and writes the file. The old text is kept in a backup file.
ExitCode change_settings(Context&, const SettingsChange&);

}  // namespace inbox_poller::poller::cli

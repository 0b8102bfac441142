// A change of somebody else's settings file as a person sees it: shown, asked about, written, told.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "poller/cli/command.hpp"
#include "poller/cli/settings_file.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

/// Where this program is, with links followed.
Result<std::string> program_path();

struct SettingsChange {
  std::filesystem::path file;
  bool yes = false;  // without asking
  /// The file's text as it shall be; none: no file.
  std::function<Result<std::optional<std::string>>(const Settings&)> change;
  /// Why it must not be done, looked at before anything is shown.
  std::function<Status(const std::string& path)> allowed = [](const std::string&) { return Status(Done{}); };
  std::string more;              // said behind it; empty: nothing
  operations::SettingsChanged also = {};  // with --json
};

/// Shows what would change, asks, and changes it. What was there is kept beside it.
ExitCode change_settings(Context&, const SettingsChange&);

}  // namespace inbox_poller::poller::cli

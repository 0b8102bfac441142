#include "poller/cli/settings_file.hpp"

#include <unistd.h>

#include <cstdlib>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_settings = std::size_t{4} << 20;

/// In its place at once, or not at all.
Status replace(FileSystem& files, const Directory& folder, const std::string& name, std::string_view bytes,
               unsigned mode) {
  const std::string temporary = name + ".inbox-poller-" + std::to_string(::getpid());
  if (Status made = create_durable(files, folder, temporary, bytes, mode); !made.ok()) return made;
  Status renamed = files.rename_at(folder, temporary, name);
  if (!renamed.ok()) static_cast<void>(files.unlink_at(folder, temporary));
  return renamed;
}

}  // namespace

Error settings_fault(const fs::path& path, const std::string& what) {
  return {"settings.unusable", path.string() + ": " + what};
}

Result<fs::path> settings_path(const std::string& scope) {
  std::error_code problem;
  if (scope == "project") return fs::absolute(".claude/settings.json", problem).lexically_normal();
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  fs::path folder = variable("CLAUDE_CONFIG_DIR");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") / ".claude";
  if (!folder.is_absolute())
    return Error{std::string(code::bad_path), "neither CLAUDE_CONFIG_DIR nor HOME names a folder, as an absolute path"};
  return folder / "settings.json";
}

Result<Settings> read_settings(FileSystem& files, const fs::path& named) {
  std::error_code problem;
  fs::path path = fs::canonical(named, problem);
  if (problem) {
    if (fs::is_symlink(fs::symlink_status(named)))
      return settings_fault(named, "a link that leads nowhere: " + problem.message());
    if (problem != std::errc::no_such_file_or_directory) return settings_fault(named, problem.message());
    path = named;
  }
  Settings settings{path.parent_path(), path.filename().string(), {}};
  if (problem) return settings;
  const auto file = files.open_read(absolute, path.string());
  if (!file) return file.error();
  if (file->stat.size > most_settings) return settings_fault(path, "longer than 4 MiB; that is no settings file");
  auto text = read_all(files, *file);
  if (!text) return text.error();
  settings.text = *std::move(text);
  settings.mode = file->stat.mode;
  return settings;
}

Status write_settings(FileSystem& files, const Settings& settings, const std::optional<std::string>& text) {
  std::error_code problem;
  fs::create_directories(settings.folder, problem);
  if (problem) return settings_fault(settings.folder, problem.message());
  const auto folder = files.open_dir(absolute, settings.folder.string());
  if (!folder) return folder.error();
  if (settings.text) {
    const std::string backup = settings.name + std::string(backup_ending);
    if (Status kept = replace(files, *folder, backup, *settings.text, settings.mode); !kept.ok()) return kept;
  }
  Status done =
      text ? replace(files, *folder, settings.name, *text, settings.mode) : files.unlink_at(*folder, settings.name);
  return done.ok() ? files.sync_dir(*folder) : done;
}

}  // namespace inbox_poller::poller::cli

#include "poller/cli/settings_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "poller/cli/status_text.hpp"
#include "poller/control/client.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_settings = std::size_t{4} << 20;

/// Replaces a file atomically through a temporary one.
Status replace(FileSystem& files, const Directory& folder, const std::string& name, std::string_view bytes,
               unsigned mode) {
  const std::string temporary = name + ".inbox-poller-" + std::to_string(::getpid());
  TRY(create_durable(files, folder, temporary, bytes, mode));
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

std::string managed_settings_folder() {
#ifdef __APPLE__
  return "/Library/Application Support/ClaudeCode";
#else
  return "/etc/claude-code";
#endif
}

std::string to_string(const HookSilence& silence) {
  if (silence.key.empty()) return "the file cannot be read, so it may turn hooks off: " + without_path(silence.problem, silence.file);
  if (!silence.is_certain)
    return silence.key + " is true: clients document it for managed settings only; one that follows it here runs no hook of ours";
  return silence.key + " is true, so no hook of ours will run";
}

std::vector<HookSilence> silenced_hooks(FileSystem& files, const fs::path& folder, const fs::path& managed) {
  std::vector<std::pair<fs::path, bool>> places;  // path, and true if managed; the first that has the key counts
  if (const auto parts = files.open_dir(absolute, (managed / "managed-settings.d").string())) {
    const auto listed = files.list(*parts);
    std::vector<std::string> names = listed ? *listed : std::vector<std::string>();
    std::ranges::sort(names, std::greater<>());  // later files override earlier ones
    for (const std::string& name : names)
      if (name.ends_with(".json")) places.emplace_back(managed / "managed-settings.d" / name, true);
  }
  places.emplace_back(managed / "managed-settings.json", true);
  places.emplace_back(folder / ".claude" / "settings.local.json", false);
  places.emplace_back(folder / ".claude" / "settings.json", false);
  if (const auto user = settings_path("user")) places.emplace_back(*user, false);
  std::vector<HookSilence> found;
  bool is_said = false;
  for (const auto& [path, is_managed] : places) {
    const auto settings = read_settings(files, path);
    std::string_view text = settings && settings->text ? *settings->text : std::string_view();
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (settings && text.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;  // nothing is in it
    const auto members =
        settings ? schema::scan_object(text) : Result<std::vector<schema::MemberSpan>>(settings.error());
    if (!members) {
      found.push_back({path.string(), "", false, members.error().message});
      continue;
    }
    const auto value = [&](std::string_view key) { return schema::find_member(text, *members, key).value_or(""); };
    if (value("allowManagedHooksOnly") == "true") found.push_back({path.string(), "allowManagedHooksOnly", is_managed});
    const auto all = value("disableAllHooks");
    if (!is_said && all == "true") found.push_back({path.string(), "disableAllHooks", true});
    is_said = is_said || all == "true" || all == "false";
  }
  return found;
}

Result<Settings> read_settings(FileSystem& files, const fs::path& named) {
  std::error_code problem;
  fs::path path = fs::canonical(named, problem);
  if (problem) {
    std::error_code unseen;
    if (fs::is_symlink(fs::symlink_status(named, unseen)) && problem == std::errc::no_such_file_or_directory)
      return settings_fault(named, "a link that leads nowhere: " + problem.message());
    if (problem != std::errc::no_such_file_or_directory) return settings_fault(named, problem.message());
    path = named;
  }
  Settings settings{path.parent_path(), path.filename().string(), {}};
  if (problem) return settings;
  TRY(const auto file, files.open_read(absolute, path.string()));
  if (file.stat.size > most_settings) return settings_fault(path, "longer than 4 MiB, which a settings file never is");
  TRY(auto text, read_all(files, file));
  settings.text = std::move(text);
  settings.mode = file.stat.mode;
  return settings;
}

Status write_settings(FileSystem& files, const Settings& settings, const std::optional<std::string>& text) {
  std::error_code problem;
  fs::create_directories(settings.folder, problem);
  if (problem) return settings_fault(settings.folder, problem.message());
  TRY(const auto folder, files.open_dir(absolute, settings.folder.string()));
  if (settings.text) {
    const std::string backup = settings.name + std::string(backup_ending);
    TRY(replace(files, folder, backup, *settings.text, settings.mode));
  }
  Status done =
      text ? replace(files, folder, settings.name, *text, settings.mode) : files.unlink_at(folder, settings.name);
  return done.ok() ? files.sync_dir(folder) : done;
}

}  // namespace inbox_poller::poller::cli

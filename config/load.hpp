// Reads the TOML files. All complaints come at once, each as `file:line:column: what is wrong, what is expected`.
// Configuration is read only from the paths given; never from a repository's working directory. A file that others may
// write is refused (a worker must not be able to widen its own rules).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace inbox_poller::config {

/// The part of the environment that defaults depend on; passed in so that tests need no real one.
struct Environment {
  std::string home;
  std::string claude_config_dir;  // CLAUDE_CONFIG_DIR; empty counts as unset
  std::string xdg_config_home;
  std::string xdg_state_home;
  std::string xdg_runtime_dir;

  static Environment from_process();
};

/// Where one effective value comes from: "default", or "file:line".
struct Setting {
  std::string key;    // "team.poll_interval"
  std::string value;  // as TOML would spell it
  std::string origin;
};

struct LoadedTeam {
  TeamConfig config;
  std::vector<Setting> settings;  // every key, in the order of the reference
  std::vector<std::string> slips;  // of the warnings: rules that do not do what they seem to
};

struct Loaded {
  DaemonConfig daemon;
  std::vector<Setting> daemon_settings;
  std::vector<LoadedTeam> teams;
  std::vector<std::string> warnings;  // loud start-up lines, e.g. for an acknowledged dangerous setting
  std::vector<std::string> problems;  // not empty: nothing above may be used
  bool unconfigured = false;          // no team file is named, and there is none: one team, which stands for all
};

/// What the command line named. With no files and no folder, the default folder `$XDG_CONFIG_HOME/inbox-poller/teams.d`
/// is read; with no daemon file, `$XDG_CONFIG_HOME/inbox-poller/daemon.toml` if present. Where that folder holds no team
/// file, every team below the default root is observed, which writes nothing into any.
struct Sources {
  std::vector<std::string> files;
  std::string dir;
  std::string daemon_file;
};

Loaded load(const Sources&, const Environment&);

/// The default folder of team files; empty when the environment names no place.
std::string team_folder(const Environment&);

/// True when neither the command line nor the default folder names a team file.
bool is_unconfigured(const Sources&, const Environment&);

/// True when a team file lies in the folder, or when that cannot be told.
bool holds_team_files(const std::string& folder);

/// Only the daemon's own settings, from `file`, or as load() reads them without Sources; for a client that looks for the
/// socket. No team file is touched.
Loaded load_daemon_settings(const Environment&, const std::string& file = {});

/// Reads one team file's text; `name` stands in the complaints. For tests and the fuzzer: no file is touched.
LoadedTeam parse_team(std::string_view text, const std::string& name, const Environment&,
                      std::vector<std::string>& problems, std::vector<std::string>& warnings);

}  // namespace inbox_poller::config

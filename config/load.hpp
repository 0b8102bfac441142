// The reader of the TOML files. It reports all problems at once, each as `file:line:column: what is wrong, what is
// expected`. It reads only the given paths, never a repository's working directory. It refuses a file that others may
// write, so that a worker cannot widen its own rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace inbox_poller::config {

/// The environment variables that defaults depend on; a parameter, so that tests need no real environment.
struct Environment {
  std::string home;
  std::string claude_config_dir;  // CLAUDE_CONFIG_DIR; empty counts as unset
  std::string xdg_config_home;
  std::string xdg_state_home;
  std::string xdg_runtime_dir;

  static Environment from_process();
};

/// The source of one effective value: "default", or "file:line".
struct Setting {
  std::string key;    // "team.poll_interval"
  std::string value;  // in TOML syntax
  std::string origin;
};

struct LoadedTeam {
  TeamConfig config;
  std::vector<Setting> settings;  // every key, in the order of the reference
  std::vector<std::string> slips;  // those warnings that are about rules with an unexpected effect
};

struct Loaded {
  DaemonConfig daemon;
  std::vector<Setting> daemon_settings;
  std::vector<LoadedTeam> teams;
  std::vector<std::string> warnings;  // start-up warnings, such as for an acknowledged dangerous setting
  std::vector<std::string> problems;  // not empty: nothing above may be used
  bool unconfigured = false;          // no team file is named or found: one observed team stands for all
};

/// The paths from the command line. Without files and directory, the default directory
/// `$XDG_CONFIG_HOME/inbox-poller/teams.d` is read. Without a daemon file, `$XDG_CONFIG_HOME/inbox-poller/daemon.toml`
/// is read if present. If the default directory has no team file, every team below the default root is observed, which
/// writes nothing.
struct Sources {
  std::vector<std::string> files;
  std::string dir;
  std::string daemon_file;
};

Loaded load(const Sources&, const Environment&);

/// Returns the default directory of team files; empty if the environment names no place.
std::string team_folder(const Environment&);

/// Returns true if neither the command line nor the default directory names a team file.
bool is_unconfigured(const Sources&, const Environment&);

/// Returns true if the directory has a team file, or if that is unknown.
bool holds_team_files(const std::string& folder);

/// Reads only the daemon's settings, from `file` or as load() does without Sources, for a client that needs the socket.
/// Reads no team file.
Loaded load_daemon_settings(const Environment&, const std::string& file = {});

/// Parses one team file's text; `name` is its name in problems. For tests and the fuzzer: reads no file.
LoadedTeam parse_team(std::string_view text, const std::string& name, const Environment&,
                      std::vector<std::string>& problems, std::vector<std::string>& warnings);

}  // namespace inbox_poller::config

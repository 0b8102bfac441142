// The survey of `doctor`: reads an installation and its teams, and passes the data to the checks (judge.hpp). It
// changes no file, lock, pane, process or ledger. A running daemon gets only a request for its status.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "poller/cli/clients.hpp"
#include "poller/cli/doctor/finding.hpp"
#include "poller/cli/settings_file.hpp"
#include "poller/cli/survey.hpp"
#include "poller/panes.hpp"
#include "poller/processes.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// The dependencies of the survey.
struct World {
  FileSystem& files;
  const Clock& clock;
  Processes& processes;
  std::function<Result<std::vector<Pane>>(const std::vector<std::string>& tmux)> panes;
  Wait wait;
  std::function<std::vector<Client>()> clients = [] { return std::vector<Client>(); };  // those in PATH
  std::string managed_settings = managed_settings_folder();
};

struct Installation {
  config::Environment environment;
  config::Sources sources;  // files read: as named, or as the daemon reported
  config::Loaded loaded;
  bool asked = false;  // the daemon reported the files
  bool unconfigured = false;
  std::string socket;
  Result<operations::Status> status;  // of the daemon
};

/// Examines a JSONL team.
Section examine_jsonl(const World& world, const config::TeamConfig& config);
/// Examines a folder that agents share.
Section examine_maildir(const World& world, const config::TeamConfig& config);

/// Examines a team whose mail is in a Redis.
Section examine_redis(const config::TeamConfig& config);

/// Checks that Redis between a team's nodes is reachable and accepts this node; empty if so.
Findings examine_engine(const config::TeamConfig& config);

/// Examines the installation first, then each present team.
std::vector<Section> examine(const World&, const Installation&);

/// Checks the hooks in settings files, including those below `folders`: whether each client reads them. Does not run
/// the clients if no file has a hook. A step of examine().
Findings examine_settings(const World&, const std::set<std::string>& folders);

/// Checks this program's servers in settings, including `.mcp.json` below `folders`: whether their program exists. A
/// step of examine().
Findings examine_mcp_servers(const World&, const std::set<std::string>& folders);

/// Examines one team, a step of examine(). Adds the working directories of its members to `folders`.
Section examine_team(const World&, const Installation&, const TeamPlace&, std::set<std::string>& folders);

}  // namespace inbox_poller::poller::cli

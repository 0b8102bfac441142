// Goes through an installation and its teams, and has what it sees judged (judge.hpp). Reads only: no file, lock, pane,
// process or ledger is touched, and a daemon that runs is only asked for its status.
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

/// What the doctor looks through.
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
  config::Sources sources;  // what was read: as named, or as the daemon told
  config::Loaded loaded;
  bool asked = false;  // the daemon told
  bool unconfigured = false;
  std::string socket;
  Result<operations::Status> status;  // of the daemon
};

/// One JSONL team.
Section examine_jsonl(const World& world, const config::TeamConfig& config);
/// One folder that agents share.
Section examine_maildir(const World& world, const config::TeamConfig& config);

/// One team whose mail is in a Redis; `status`: of the daemon, empty where none was asked.
Section examine_redis(const config::TeamConfig& config, const operations::Status& status = {});

/// Whether the engine between the hosts of a team is reached from here, and lets this host in; nothing where it is.
Findings examine_engine(const config::TeamConfig& config);

/// The installation first, then each team that is there.
std::vector<Section> examine(const World&, const Installation&);

/// The hooks in the settings files that the clients here read, those below `folders` too: whether each client reads
/// them as they stand. A step of examine(). No client is asked where no file has a hook.
Findings examine_settings(const World&, const std::set<std::string>& folders);

/// Our servers that the settings here name, `.mcp.json` below `folders` too: whether their program is there. A step of
/// examine().
Findings examine_mcp_servers(const World&, const std::set<std::string>& folders);

/// Findings about one team; a step of examine(). Adds the folders that its members work in.
Section examine_team(const World&, const Installation&, const TeamPlace&, std::set<std::string>& folders);

}  // namespace inbox_poller::poller::cli

// Goes through an installation and its teams, and has what it sees judged (judge.hpp). Reads only: no file, lock, pane,
// process or ledger is touched, and a daemon that runs is only asked for its status.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "poller/cli/doctor/finding.hpp"
#include "poller/cli/survey.hpp"
#include "poller/panes.hpp"
#include "poller/processes.hpp"

namespace inbox_poller::poller::cli {

/// What the doctor looks through.
struct World {
  FileSystem& files;
  const Clock& clock;
  Processes& processes;
  std::function<Result<std::vector<Pane>>(const std::vector<std::string>& tmux)> panes;
  Wait wait;
};

struct Installation {
  config::Environment environment;
  config::Loaded loaded;
  bool unconfigured = false;
  std::string socket;
  Result<boost::json::object> status;  // of the daemon
};

/// The installation first, then each team that is there.
std::vector<Section> examine(const World&, const Installation&);

/// Findings about one team; a step of examine().
Section examine_team(const World&, const Installation&, const TeamPlace&);

}  // namespace inbox_poller::poller::cli

// Teams for a person who has configured nothing: which teams exist, a description of each, and a first team file.
#pragma once

#include <string>
#include <vector>

#include "poller/cli/survey.hpp"

namespace inbox_poller::poller::cli {

/// A team below the root, with the data by which a person recognizes it.
struct SeenTeam {
  TeamPlace place;
  TeamSight sight;
  bool has_lead_process = false;  // the roster names a living lead process
  [[nodiscard]] std::vector<std::string> workers() const;
};

/// Surveys all teams below the root, by name; an empty list if the root is missing. Error: the root cannot be listed.
Result<std::vector<SeenTeam>> look_around(FileSystem&, const Clock&, const config::TeamConfig& any);
std::vector<std::string> team_names(const std::vector<SeenTeam>&);

/// Describes the teams, a printable line each; at most 20.
std::string seen_text(const std::vector<SeenTeam>&);

/// Returns what `run` prints first without a team file: what it watches, and how to continue.
std::string unconfigured_text(const config::TeamConfig& any, const Result<std::vector<SeenTeam>>&,
                              const std::string& folder);

/// A person's choices for a new team file.
struct TeamChoice {
  std::string team;
  std::string shared = {};     // folder or Redis of the team's mail; empty: a team of inboxes below the root
  std::string lead = {};       // with `shared`: whose mail is delivered
  std::string role = {};       // leader, interceptor, observer; empty: the default
  std::string allow = {};      // rule preset for what workers may do without a person: looking, working; empty: none
  std::string method = {};        // of delivery.methods; empty: all methods
};
std::string team_file_text(const TeamChoice&);

/// Returns a name for the team's file, such as "demo.toml"; of a glob its literal characters remain.
std::string team_file_name(const std::string& team);

}  // namespace inbox_poller::poller::cli

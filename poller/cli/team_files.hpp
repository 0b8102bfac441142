// Teams as somebody meets them who has configured nothing: which there are, what there is to say of each, and the team
// file to begin with.
#pragma once

#include <string>
#include <vector>

#include "poller/cli/survey.hpp"

namespace inbox_poller::poller::cli {

/// A team that lies below the root, and what a person recognizes it by.
struct SeenTeam {
  TeamPlace place;
  TeamSight sight;
  bool has_lead_process = false;  // the roster names a lead that lives
  [[nodiscard]] std::vector<std::string> workers() const;
};

/// By name; none where there is no root. An error when that cannot be listed.
Result<std::vector<SeenTeam>> look_around(FileSystem&, const Clock&, const config::TeamConfig& any);
std::vector<std::string> team_names(const std::vector<SeenTeam>&);

/// A line each; made printable.
std::string seen_text(const std::vector<SeenTeam>&);

/// What `run` says first when no team file is there: what it watches, and what leads on.
std::string unconfigured_text(const config::TeamConfig& any, const Result<std::vector<SeenTeam>>&,
                              const std::string& folder);

/// The answers that make a team file.
struct TeamChoice {
  std::string team;
  std::string shared = {};     // the folder or the Redis whose mail agents share; empty: a team of inboxes below the root
  std::string lead = {};       // then: whose mail it is
  std::string role = {};       // leader, front, observer; empty: as by default
  std::string allow = {};      // the preset of rules for what workers may do unasked: looking, working; empty: none
  std::string way = {};        // of delivery.via; empty: all of them
};
std::string team_file_text(const TeamChoice&);

/// The name of its file in the folder of team files: "demo.toml"; of a glob what is left of it.
std::string team_file_name(const std::string& team);

}  // namespace inbox_poller::poller::cli

// Any bytes as a team's configuration: either settings within their bounds or complaints that begin with
// file:line:column.
#include "config/load.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_team_config {

using namespace inbox_poller::config;

int try_one(const std::uint8_t* data, std::size_t size) {
  const Environment environment{"/home/user", "", "", "", ""};
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
  const LoadedTeam team = parse_team(as_text(data, size), "fuzz.toml", environment, problems, warnings);
  for (const auto& problem : problems) {
    unsigned line = 0;
    unsigned column = 0;
    EXPECT(std::sscanf(problem.c_str(), "fuzz.toml:%u:%u: ", &line, &column) == 2 && line > 0 && column > 0);
  }
  if (!problems.empty()) return 0;
  EXPECT(team.config.team.poll_interval.count() > 0);
  EXPECT(team.config.permissions.timeout.count() > 0);
  EXPECT(team.config.plans.decision != Action::deny);
  EXPECT(!team.config.modes.on_join || *team.config.modes.on_join <= team.config.modes.ceiling);
  for (const auto& [member, mode] : team.config.modes.members) EXPECT(mode <= team.config.modes.ceiling);
  const ShutdownSettings& shutdown = team.config.shutdown;
  EXPECT(!shutdown.force_after ||
         (*shutdown.force_after > shutdown.remind_after && *shutdown.force_after < shutdown.timeout));
  EXPECT(!shutdown.tmux.empty() && !shutdown.tmux.front().empty());
  EXPECT(!team.config.team.name.empty() && team.config.team.root.starts_with("/"));
  return 0;
}

const Target registered("team_config", try_one);

}  // namespace inbox_poller::fuzz::of_team_config

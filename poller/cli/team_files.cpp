#include "poller/cli/team_files.hpp"

#include <boost/algorithm/string/join.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <cerrno>
#include <utility>

#include "config/redis_address.hpp"
#include "config/presets.hpp"
#include "handlers/lead_process.hpp"
#include "poller/cli/printable.hpp"
#include "poller/lead_process.hpp"
#include "poller/processes.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr std::size_t most_shown = 20;

/// Quotes a text as both TOML and JSON do.
std::string quoted(const std::string& text) { return boost::json::serialize(boost::json::value(text)); }

std::string line_of(const SeenTeam& team) {
  if (!team.sight.roster) return "its roster cannot be read: " + printable(team.sight.roster.error().message);
  const auto workers = team.workers();
  std::string text = "lead " + printable(team.sight.lead) + (team.has_lead_process ? " (its process lives)" : "") +
                     (workers.empty() ? ", no workers" : ", workers " + printable(boost::join(workers, ", ")));
  for (const InboxSight& inbox : team.sight.inboxes)
    if (inbox.whose == Whose::lead)
      text += "; " + std::to_string(inbox.entries) + (inbox.entries == 1 ? " message" : " messages") +
              " for the lead, " + std::to_string(inbox.unread) + " unread";
  return text;
}

}  // namespace

std::vector<std::string> SeenTeam::workers() const {
  std::vector<std::string> names;
  if (!sight.roster) return names;
  for (const schema::Member& member : sight.roster->members)
    if (member.name != sight.lead) names.push_back(member.name);
  return names;
}

Result<std::vector<SeenTeam>> look_around(FileSystem& files, const Clock& clock, const config::TeamConfig& any) {
  const auto places = find_teams(files, any);
  if (!places && is_errno(places.error(), ENOENT)) return std::vector<SeenTeam>();
  if (!places) return places.error();
  SystemProcesses processes;
  std::vector<SeenTeam> teams;
  for (const TeamPlace& place : *places) {
    SeenTeam team{place, look_at_team(files, clock, place, wait_here), false};
    if (team.sight.roster && team.sight.roster->lead_process)
      team.has_lead_process = handlers::state_of(look_at(*team.sight.roster->lead_process, processes)) ==
                              handlers::LeadProcessState::lives;
    teams.push_back(std::move(team));
  }
  return teams;
}

std::vector<std::string> team_names(const std::vector<SeenTeam>& teams) {
  std::vector<std::string> names;
  for (const SeenTeam& team : teams) names.push_back(team.place.name);
  return names;
}

std::string seen_text(const std::vector<SeenTeam>& teams) {
  std::string text;
  for (std::size_t i = 0; i < teams.size() && i < most_shown; ++i)
    text += "  " + printable(teams[i].place.name) + ": " + line_of(teams[i]) + '\n';
  if (teams.size() > most_shown) text += "  and " + std::to_string(teams.size() - most_shown) + " more\n";
  return text;
}

std::string unconfigured_text(const config::TeamConfig& any, const Result<std::vector<SeenTeam>>& teams,
                              const std::string& folder) {
  std::string text = "Nothing is configured: every team is watched, and nothing is written to any.\nTeams below " +
                     printable(any.team.root) + ":\n";
  if (!teams) return text + "  that folder cannot be looked into: " + printable(teams.error().message) + '\n';
  text += teams->empty() ? "  there is none yet; one that comes is seen at once\n" : seen_text(*teams);
  const std::string name = teams->empty() ? "my-team" : teams->front().place.name;
  return text + "`inbox-poller status` shows more. To answer a team's requests: `inbox-poller init`,\nor write\n" +
         printable_block(team_file_text({.team = name}), "  ") + "into\n  " +
         printable(shell_word(folder + '/' + team_file_name(name))) + "\nand run `inbox-poller reload`.\n";
}

std::string team_file_text(const TeamChoice& choice) {
  std::string text = "[team]\nname = " + quoted(choice.team) + '\n';
  const bool is_redis = config::is_engine_address(choice.shared);
  if (!choice.shared.empty())
    text += std::string("backend = ") + (is_redis ? "\"redis\"\nredis_url = " : "\"maildir\"\nfolder = ") +
            quoted(choice.shared) + "\nlead = " + quoted(choice.lead) + '\n';
  if (!choice.role.empty() && choice.role != "leader") text += "role = \"" + choice.role + "\"\n";
  if (const auto rules = config::preset_rules(choice.allow); !rules.empty()) {
    text +=
        std::string("\n[permissions]                 # what is not named here waits for ") +
        (choice.role == "interceptor" ? "the lead\n" : "you: inbox-poller pending\n") +
        "allow = [                     # \"/\" is the asking worker's own folder\n";
    std::string line = " ";
    for (const std::string_view rule : rules) {
      if (line.size() + rule.size() > 96) text += std::exchange(line, " ") + '\n';
      line += " \"" + std::string(rule) + "\",";
    }
    text += line + "\n]\n";
  }
  if (!choice.method.empty()) text += "\n[delivery]\nmethods = [\"" + choice.method + "\"]\n";
  return text;
}

std::string team_file_name(const std::string& team) {
  std::string name;
  for (const char c : team)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c == '-' && !name.empty())) name += c;
  while (name.ends_with('-')) name.pop_back();
  return (name.empty() ? "teams" : name) + ".toml";
}

}  // namespace inbox_poller::poller::cli

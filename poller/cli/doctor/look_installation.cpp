#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller::cli {

namespace {

/// Checks owner and mode of a path. False when it does not exist or cannot be checked.
bool look_at_path(const World& world, const std::string& path, Closed closed, Findings& findings) {
  if (path.empty()) return false;
  const Result<FileStat> stat = world.files.stat_at(absolute, path);
  if (!stat) {
    if (!is_errno(stat.error(), ENOENT))
      findings.push_back({Severity::error, stat.error().code, stat.error().message, path, "ls -ld " + shell_word(path)});
    return false;
  }
  add(findings, judge_access(path, *stat, static_cast<unsigned>(::geteuid()), closed));
  return true;
}

void look_at_space(const std::string& path, Findings& findings) {
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) != 0) return;  // another check reports errors of the path
  const Space space{static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize, disk.f_files, disk.f_favail};
  add(findings, judge_space(path, space));
}

void look_at_daemon(const World& world, const Installation& at, Findings& findings) {
  const config::DaemonConfig& daemon = at.loaded.daemon;
  add(findings, judge_daemon(at.status, at.socket, !at.loaded.teams.empty()));
  look_at_path(world, at.socket, Closed::to_readers, findings);
  look_at_path(world, std::filesystem::path(at.socket).parent_path().string(), Closed::to_writers, findings);
  look_at_path(world, daemon.log.file, Closed::to_readers, findings);
  if (!look_at_path(world, daemon.state_dir, Closed::to_readers, findings)) return;
  const std::string ledger = daemon.state_dir + "/ledger.sqlite3";
  add(findings, judge_ledger(ledger, inspect_ledger(ledger)));
  if (const Result<FileStat> stat = world.files.stat_at(absolute, ledger)) {
    add(findings, judge_writable(ledger, *stat, static_cast<unsigned>(::geteuid()), Closed::to_readers));
    add(findings, judge_time(ledger, *stat, world.clock.wall_ms()));
  }
  look_at_space(daemon.state_dir, findings);
}

void look_at_root(const World& world, const config::TeamConfig& config, Findings& findings) {
  const std::string& root = config.team.root;
  const Result<FileStat> stat = world.files.stat_at(absolute, root);
  if (stat || !is_errno(stat.error(), ENOENT)) {
    if (look_at_path(world, root, Closed::to_writers, findings)) look_at_space(root, findings);
  } else if (!config.source.empty()) {
    findings.push_back({Severity::warning, "root.missing",
                        "the folder does not exist: no client has made a team here yet, or the path is another", root,
                        "check root under [team] in " + printable(config.source)});
  }
}

/// A similar name makes the finding a warning, because the file's settings then never apply.
Finding no_such_team(const World& world, const config::TeamConfig& config) {
  config::TeamConfig any = config;
  any.team.name = "*";
  std::vector<std::string> names;
  if (const auto there = find_teams(world.files, any); there && !config.team.is_glob())
    for (const TeamPlace& place : *there) names.push_back(place.name);
  const std::string meant = schema::did_you_mean(config.team.name, names);
  return {meant.empty() ? Severity::note : Severity::warning, "team.none",
          (config.team.name == "*" ? "no team exists yet" : "team \"" + config.team.name + "\" does not exist yet") + meant,
          config.team.root,
          meant.empty() ? "" : "check name under [team] in " + printable(config.source)};
}

/// Examines a team whose mailbox is not the client's: its mailbox, then the daemon's report of it.
Section examine_other(const World& world, const Installation& at, const config::TeamConfig& config) {
  const auto kind = config.team.backend;
  Section section = kind == config::Backend::jsonl   ? examine_jsonl(world, config)
                    : kind == config::Backend::redis ? examine_redis(config)
                                                     : examine_maildir(world, config);
  if (!at.status) return section;
  const TeamPlace team{config.team.name, config};
  const auto is_absent = [](const Finding& one) { return one.check == "team.none"; };
  const auto is_error = [](const Finding& one) { return one.severity == Severity::error; };
  const bool is_there = std::ranges::none_of(section.findings, is_absent);
  if (std::ranges::none_of(section.findings, is_error)) add(section.findings, judge_taken(team, *at.status));
  add(section.findings, judge_served(team, *at.status, is_there, false, world.clock.wall_ms()));
  return section;
}

}  // namespace

std::vector<Section> examine(const World& world, const Installation& at) {
  std::vector<Section> sections{{"installation", "", {}}};
  std::string places;
  for (const config::LoadedTeam& team : at.loaded.teams) places += (places.empty() ? "" : ", ") + team.config.source;
  if (at.unconfigured) places = config::team_folder(at.environment);
  Findings findings = judge_configuration(at.loaded, at.unconfigured, places, at.asked);
  look_at_daemon(world, at, findings);
  std::vector<config::TeamConfig> configs;
  if (at.loaded.problems.empty())
    for (const config::LoadedTeam& team : at.loaded.teams) configs.push_back(team.config);
  if (configs.empty()) configs.push_back(any_team("", at.environment));  // as without a configuration
  std::set<std::string> roots;
  std::error_code problem;
  std::set<std::string> folders{std::filesystem::current_path(problem).string()};  // where clients work
  for (const config::TeamConfig& config : configs) {
    if (config.team.backend != config::Backend::claude_code) {
      sections.push_back(examine_other(world, at, config));
      if (!config.team.folder.empty() && roots.insert(config.team.folder).second)
        look_at_space(config.team.folder, findings);
      continue;
    }
    if (roots.insert(config.team.root).second) look_at_root(world, config, findings);
    const auto teams = find_teams(world.files, config);
    const bool is_unread = !teams && !is_errno(teams.error(), ENOENT);
    const auto is_said = [&](const Finding& one) {
      return one.severity == Severity::error && one.where == config.team.root;
    };
    if (is_unread && std::ranges::none_of(findings, is_said))
      findings.push_back({Severity::error, teams.error().code, teams.error().message, config.team.root,
                          "ls -ld " + shell_word(config.team.root)});
    if (!is_unread && (!teams || teams->empty())) findings.push_back(no_such_team(world, config));
    if (!teams) continue;
    for (const TeamPlace& team : *teams) sections.push_back(examine_team(world, at, team, folders));
  }
  add(findings, examine_settings(world, folders));
  add(findings, examine_mcp_servers(world, folders));
  sections.front().findings = std::move(findings);
  return sections;
}

}  // namespace inbox_poller::poller::cli

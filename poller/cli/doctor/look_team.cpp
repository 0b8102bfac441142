#include <unistd.h>

#include <algorithm>

#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/context/client_sessions.hpp"
#include "poller/lead_process.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller::cli {

namespace {

void look_at_access(const World& world, const TeamPlace& team, const TeamSight& sight, Findings& findings) {
  const auto uid = static_cast<unsigned>(::geteuid());
  for (const std::string& path : {team.folder(), team.folder() + "/inboxes", team.folder() + "/config.json"}) {
    if (const Result<FileStat> stat = world.files.stat_at(absolute, path)) {
      add(findings, judge_access(path, *stat, uid, Closed::to_writers));
      if (stat->kind != FileKind::directory) add(findings, judge_time(path, *stat, world.clock.wall_ms()));
    }
  }
  for (const InboxSight& inbox : sight.inboxes)
    if (inbox.stat) add(findings, judge_access(inbox.path, *inbox.stat, uid, Closed::to_writers));
}

void look_at_locks(const World& world, const TeamPlace& team, const TeamSight& sight, Findings& findings) {
  for (const LockSight& lock : sight.locks) add(findings, judge_lock(lock, world.clock.wall_ms()));
  const Result<Directory> folder = world.files.open_dir(absolute, team.config.team.task_folder(team.name));
  if (!folder) return;  // a team without tasks
  if (const auto lock = look_at_lock(world.files, *folder, ".lock.lock"))
    add(findings, judge_lock(*lock, world.clock.wall_ms()));
}

/// True if a process of the pane names this agent in its arguments; unreadable arguments count as naming it.
bool runs_agent(Processes& processes, const Pane& pane, const std::string& agent_id) {
  if (agent_id.empty()) return true;
  const std::vector<ProcessRef> family = processes.family(pane.first);
  return std::any_of(family.begin(), family.end(), [&](const ProcessRef& process) {
    const std::vector<std::string> words = processes.arguments(process);
    return words.empty() || std::find(words.begin(), words.end(), agent_id) != words.end();
  });
}

void look_at_members(const World& world, const TeamPlace& team, const schema::Roster& roster, Findings& findings) {
  std::vector<MemberSight> sights;
  for (const schema::Member& member : roster.members) {
    const bool in_tmux = member.backend_type == "tmux" || member.backend_type.empty();
    if (in_tmux && schema::is_pane_id(member.tmux_pane_id))
      sights.push_back({member.name, member.tmux_pane_id, PaneState::unknown, true});
  }
  if (sights.empty()) return;
  const Result<std::vector<Pane>> panes = world.panes(team.config.shutdown.tmux);
  if (!panes)
    findings.push_back({Severity::warning, panes.error().code,
                        "workers live in panes, which cannot be looked at: " + panes.error().message, team.folder(),
                        "install tmux, or say how to reach it with tmux under [shutdown]"});
  const std::string lead = team.config.team.lead.empty() ? roster.lead_name() : team.config.team.lead;
  for (MemberSight& sight : sights) {
    if (!panes || sight.name == lead) continue;  // a lead names no agent, and is not ended
    const auto pane = std::find_if(panes->begin(), panes->end(), [&](const Pane& one) { return one.id == sight.pane_id; });
    sight.pane = pane == panes->end() ? PaneState::gone : pane->dead ? PaneState::dead : PaneState::there;
    if (sight.pane == PaneState::there)
      sight.process = runs_agent(world.processes, *pane, roster.find(sight.name)->agent_id);
  }
  add(findings, judge_members(team, sights));
}

/// True for an inbox of a former member, which is not a misspelled name. Only the daemon remembers former members.
bool was_member(const std::string& inbox, const TeamPlace& team, const operations::Status& status) {
  const auto* served = served_in(status, team.name);
  return served != nullptr && std::ranges::any_of(served->members, [&](const auto& one) { return one.member == inbox; });
}

std::optional<LiveSession> lead_session(const World& world, const TeamPlace& team, const schema::Roster& roster) {
  SessionWatch watch(world.files, world.processes, world.clock, team.config.team.session_folder());
  static_cast<void>(watch.look(roster.lead_session_id));
  return watch.live();
}

/// True if the lead that read the inbox has ended, as far as visible.
bool has_ended(const World& world, const TeamPlace& team, const schema::Roster& roster) {
  if (roster.lead_process)
    return handlers::state_of(look_at(*roster.lead_process, world.processes)) == handlers::LeadProcessState::gone;
  return !lead_session(world, team, roster);
}

void look_at_lead(const World& world, const TeamPlace& team, const schema::Roster& roster, Findings& findings) {
  if (!roster.lead_process) {
    if (const auto live = lead_session(world, team, roster))
      add(findings, judge_lead_session(team, words_of(*live), handlers::reads_inbox(sight_of(*live, roster))));
    return;
  }
  const auto state = handlers::state_of(look_at(*roster.lead_process, world.processes));
  add(findings, judge_lead_process(team, *roster.lead_process, state));
}

void look_at_answers(const World& world, const TeamPlace& team, const schema::Roster& roster, Findings& findings) {
  WorkerProcesses processes(world.processes, world.clock);
  add(findings, judge_answers(team, workers_of(roster, team.config, processes)));
}

void look_at_leftovers(const World& world, const TeamPlace& team, Findings& findings) {
  std::size_t files = 0;
  const std::string folder = team.folder() + "/permissions";
  for (const char* part : {"", "/pending", "/resolved"}) {
    const Result<Directory> directory = world.files.open_dir(absolute, folder + part);
    const auto names = directory ? world.files.list(*directory) : Result<std::vector<std::string>>(directory.error());
    if (names)
      files += static_cast<std::size_t>(
          std::count_if(names->begin(), names->end(), [](const std::string& name) { return name.ends_with(".json"); }));
  }
  add(findings, judge_leftovers(folder, files));
}

}  // namespace

Section examine_team(const World& world, const Installation& at, const TeamPlace& team,
                     std::set<std::string>& folders) {
  Section section{"team " + team.name, team.name, {}};
  Findings& findings = section.findings;
  const TeamSight sight = look_at_team(world.files, world.clock, team, world.wait);
  add(findings, judge_roster(team, sight));
  const bool lead_has_ended = sight.roster && has_ended(world, team, *sight.roster);
  if (at.status)
    add(findings, judge_served(team, *at.status, sight.roster.ok(), lead_has_ended, world.clock.wall_ms()));
  if (sight.problem)
    findings.push_back({Severity::error, sight.problem->code, sight.problem->message, team.folder() + "/inboxes", ""});
  look_at_access(world, team, sight, findings);
  look_at_locks(world, team, sight, findings);
  for (const InboxSight& inbox : sight.inboxes)
    if (inbox.whose != Whose::nobody || !at.status || !was_member(inbox.name, team, *at.status))
      add(findings, judge_inbox(team, inbox, world.clock.wall_ms()));
  if (sight.roster) {
    for (const schema::Member& member : sight.roster->members) folders.insert(member.cwd);
    look_at_members(world, team, *sight.roster, findings);
    look_at_lead(world, team, *sight.roster, findings);
    look_at_answers(world, team, *sight.roster, findings);
  }
  look_at_leftovers(world, team, findings);
  return section;
}

}  // namespace inbox_poller::poller::cli

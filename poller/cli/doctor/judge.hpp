// What each thing that was seen means: pure, one small function a check, findings out. Nothing is looked at here
// (look.hpp does that) and nothing is ever changed. Source: docs/reference/wire.md W1 to W12.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "handlers/lead_process.hpp"
#include "poller/cli/clients.hpp"
#include "poller/cli/doctor/finding.hpp"
#include "poller/cli/survey.hpp"
#include "poller/ledger/inspect.hpp"
#include "schema/hook_settings.hpp"
#include "schema/operations/team.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller::cli {

// --- the installation (judge_installation.cpp)

/// Complaints and warnings of the configuration. `places`: what was read, or looked for; `of_daemon`: it told them.
Findings judge_configuration(const config::Loaded&, bool unconfigured, const std::string& places = {},
                             bool of_daemon = false);

enum class Closed { to_writers, to_readers };  // whom a file or folder must be closed to; readers include writers
/// Owner and mode. A sticky folder that everybody may write to is fine, as /tmp is.
Findings judge_access(const std::string& path, const FileStat&, unsigned uid, Closed);

Findings judge_ledger(const std::string& path, const Result<LedgerReport>&);

/// A team as the daemon serves it; null when it does not.
const operations::Team* served_in(const operations::Status& status, const std::string& team);

/// `status` is the daemon's answer; teams are configured that it should serve.
Findings judge_daemon(const Result<operations::Status>& status, const std::string& socket, bool wanted);

struct Space {
  std::uint64_t free_bytes = 0;
  std::uint64_t inodes = 0;  // 0: this file system has no fixed number of them
  std::uint64_t free_inodes = 0;
};
Findings judge_space(const std::string& path, const Space&);

/// A file from the future: the clock, or whoever set its time.
Findings judge_time(const std::string& path, const FileStat&, EpochMs now);

/// A settings file with hooks, against the clients that read it. `scope`: as `hook install` calls it, with the folder
/// to run it in where that matters.
struct SettingsSight {
  std::string path;
  std::string scope;
  std::string folder;
  std::vector<schema::SettingsHook> hooks;
};
Findings judge_settings(const SettingsSight&, const std::vector<Client>&);

// --- a team (judge_team.cpp)

/// Its name, its roster, a folder that is no team any more.
Findings judge_roster(const TeamPlace&, const TeamSight&);
Findings judge_inbox(const TeamPlace&, const InboxSight&, EpochMs now);
Findings judge_lock(const LockSight&, EpochMs now);

enum class PaneState { none, there, dead, gone, unknown };
struct MemberSight {
  std::string name;
  std::string pane_id;
  PaneState pane = PaneState::none;  // none: it has no pane of tmux
  bool process = true;               // the pane's processes include one of this agent
};
Findings judge_members(const TeamPlace&, const std::vector<MemberSight>&);

/// Whether the client that says it leads the team lives, against the role we have beside it.
Findings judge_lead_process(const TeamPlace&, const schema::LeadProcess&, handlers::LeadProcessState);

/// A living session with the lead's id, likewise; `who`: "process 42 (client 2.1.220)".
Findings judge_lead_session(const TeamPlace&, const std::string& who, bool reads_inbox);

/// Which workers take answers of ours, and which do not and why.
Findings judge_answers(const TeamPlace&, const std::vector<WorkerAnswers>&);

/// What the daemon says of this team. `has_roster`: it is a team that could be served. `lead_has_ended`: the process
/// that says in the roster that it leads the team.
Findings judge_standing(const TeamPlace&, const operations::Status& status, bool has_roster,
                        bool lead_has_ended = false);

/// Whether mail for an idle lead has a way to it, where that is its hooks.
Findings judge_wake(const TeamPlace&, const operations::Status& status);

/// Whether the daemon looks as often as `poll_interval` says.
Findings judge_polls(const TeamPlace&, const operations::Status& status);

/// Who leads, which hosts are silent, where mail waits too long, and what ails the engine between them; for a team with
/// [hosts]. (judge_hosts.cpp)
Findings judge_hosts(const TeamPlace&, const operations::Status& status, EpochMs now);

/// Files of the permission exchange that came before the mailbox.
Findings judge_leftovers(const std::string& path, std::size_t files);

}  // namespace inbox_poller::poller::cli

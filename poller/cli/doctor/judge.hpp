// The checks of `doctor`: functions from what was read to findings. look.hpp reads; a check reads only the clock, and
// changes nothing. Source: docs/reference/wire.md W1 to W12.
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

/// Reports errors and warnings of the configuration. `places`: the files read, or the folder searched; `of_daemon`: the
/// daemon reported them.
Findings judge_configuration(const config::Loaded&, bool unconfigured, const std::string& places = {},
                             bool of_daemon = false);

enum class Closed { to_writers, to_readers };  // to whom a path must be closed; readers include writers
/// Reports a folder, or a private file, that its owner cannot write; root can write all.
Findings judge_writable(const std::string& path, const FileStat&, unsigned uid, Closed);
/// Checks owner and mode. A sticky directory that all may write to, such as /tmp, is accepted.
Findings judge_access(const std::string& path, const FileStat&, unsigned uid, Closed);

Findings judge_ledger(const std::string& path, const Result<LedgerReport>&);

/// Returns a team as the daemon serves it; null when the daemon does not serve it.
const operations::Team* served_in(const operations::Status& status, const std::string& team);

/// Checks the daemon by its answer `status`. `wanted`: teams are configured, so a daemon should run.
Findings judge_daemon(const Result<operations::Status>& status, const std::string& socket, bool wanted);

struct Space {
  std::uint64_t free_bytes = 0;
  std::uint64_t inodes = 0;  // 0: the file system has no fixed number
  std::uint64_t free_inodes = 0;
};
Findings judge_space(const std::string& path, const Space&);

/// Warns of a file with a time in the future: the clock was set back, or the time was set by hand.
Findings judge_time(const std::string& path, const FileStat&, EpochMs now);

/// A settings file with hooks. `scope`: the option of `hook install`; `folder`: where to run it, if that matters.
struct SettingsSight {
  std::string path;
  std::string scope;
  std::string folder;
  std::vector<schema::SettingsHook> hooks;
};
Findings judge_settings(const SettingsSight&, const std::vector<Client>&);

// --- a team (judge_team.cpp)

/// Checks the team's name and roster, and whether the folder still belongs to a team.
Findings judge_roster(const TeamPlace&, const TeamSight&);
Findings judge_inbox(const TeamPlace&, const InboxSight&, EpochMs now);
Findings judge_lock(const LockSight&, EpochMs now);

enum class PaneState { none, there, dead, gone, unknown };
struct MemberSight {
  std::string name;
  std::string pane_id;
  PaneState pane = PaneState::none;  // none: not a pane of tmux
  bool process = true;               // a process of the pane names this agent
};
Findings judge_members(const TeamPlace&, const std::vector<MemberSight>&);

/// Checks the process that the roster names as the lead's, against the configured role.
Findings judge_lead_process(const TeamPlace&, const schema::LeadProcess&, handlers::LeadProcessState);

/// Checks a living session with the lead's id in the same way; `who`: such as "process 42 (client 2.1.220)".
Findings judge_lead_session(const TeamPlace&, const std::string& who, bool reads_inbox);

/// Lists the workers that accept answers from this machine, and those that do not, with the reason.
Findings judge_answers(const TeamPlace&, const std::vector<WorkerAnswers>&);

/// Checks the daemon's role in the team. `has_roster`: the team could be served; `lead_has_ended`: the lead that the
/// roster names has ended.
Findings judge_standing(const TeamPlace&, const operations::Status& status, bool has_roster,
                        bool lead_has_ended = false);

/// Warns when mail for an idle lead depends on hooks that cannot wake the lead.
Findings judge_wake(const TeamPlace&, const operations::Status& status);

/// Warns of polls that began much later than `poll_interval` allows.
Findings judge_polls(const TeamPlace&, const operations::Status& status);

/// Checks the leader, silent nodes, mail that waits too long, and Redis, for a team with [cluster].
/// (judge_nodes.cpp)
Findings judge_nodes(const TeamPlace&, const operations::Status& status, EpochMs now);

/// Runs judge_standing(), judge_wake(), judge_polls() and judge_nodes(), and reports a commit that failed.
Findings judge_served(const TeamPlace&, const operations::Status& status, bool has_roster, bool lead_has_ended,
                      EpochMs now);

/// Reports a roster or an inbox that the daemon cannot read.
Findings judge_taken(const TeamPlace&, const operations::Status& status);

/// Notes files of the permission exchange that older clients used before the mailbox.
Findings judge_leftovers(const std::string& path, std::size_t files);

}  // namespace inbox_poller::poller::cli

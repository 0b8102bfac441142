// A survey of teams on the disk, for a person: teams below a root, their inboxes, locks, and the owner of each inbox.
// It changes nothing and opens only inboxes and rosters. It is not the daemon's view, which knows decisions and unsent
// replies. Source: docs/reference/wire.md W1, W2, W9.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "handlers/answers_count.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/worker_processes.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller::cli {

using Wait = std::function<void(std::chrono::milliseconds)>;
/// Blocks this thread; only for commands, which do one thing.
void wait_here(std::chrono::milliseconds);

/// A team's folder and its settings.
struct TeamPlace {
  std::string name;
  config::TeamConfig config;  // `source` is empty when no team file covers it
  [[nodiscard]] std::string folder() const { return config.team.team_folder(name); }
};

/// Returns the settings of a team file that names all teams below `root` and nothing else. Empty `root`: the default.
config::TeamConfig any_team(std::string root, const config::Environment&);

/// Finds the folders that match the name or glob of `config` and hold a roster or inboxes, sorted by name. A folder
/// that cannot be read counts: it may hold them. Error: the root of a glob cannot be listed.
Result<std::vector<TeamPlace>> find_teams(FileSystem&, const config::TeamConfig& config);

enum class Whose {
  lead,
  member,
  alias,    // another name of the lead (team.aliases)
  sender,   // outside of the roster, and allowed (delivery.allowed_senders)
  nobody,   // orphaned, usually a misspelled name
  unknown,  // no readable roster exists
};
consteval auto words_of(Whose) {
  return std::to_array<std::string_view>({"lead", "member", "alias", "sender", "orphaned", "unknown"});
}
inline std::string_view to_string(Whose whose) { return schema::name_of(whose); }
Whose whose_inbox(const std::string& inbox, const config::TeamConfig&, const std::string& lead,
                  const Result<schema::Roster>&);

/// An object at a lock's path.
struct LockSight {
  std::string path;
  FileStat stat;
  bool empty = true;  // false: a directory with entries
};

struct InboxSight {
  std::string name;
  std::string path;
  Whose whose = Whose::unknown;
  std::optional<FileStat> stat;  // empty: it vanished during the survey
  ReadOutcome outcome = ReadOutcome::missing;
  std::string detail;
  std::size_t entries = 0;
  std::size_t unread = 0;
  std::size_t bad = 0;           // unreadable entries
  bool bom = false;              // begins with a byte order mark
  EpochMs oldest_unread_ms = 0;  // Unix epoch, from its own time stamp; 0: none, or none readable
};

struct TeamSight {
  Result<schema::Roster> roster;
  std::string lead;
  std::vector<InboxSight> inboxes;  // by name
  std::vector<LockSight> locks;     // of inboxes and of the roster, by path
  std::optional<Error> problem;     // the inbox folder exists and cannot be read
};
TeamSight look_at_team(FileSystem&, const Clock&, const TeamPlace&, const Wait&);

/// A worker and whether answers from this machine count for it, as far as visible without a daemon.
struct WorkerAnswers {
  std::string name;
  handlers::AnswerAuthority authority;
};
std::vector<WorkerAnswers> workers_of(const schema::Roster&, const config::TeamConfig&, WorkerProcesses&);

/// Returns the object at this lock's path; empty when there is none.
std::optional<LockSight> look_at_lock(FileSystem&, const Directory& at, const std::string& name);

/// Returns the lead's name: as configured, from the roster, or the client's default.
std::string lead_of(const config::TeamConfig&, const Result<schema::Roster>&);

/// Reads without a lock. A file that is being written is read this many times, one every 50 ms.
ReadResult read_calmly(ArrayInboxes&, const std::string& inbox, const Wait&, int readings = 5);

/// Parses an ISO 8601 time stamp as JavaScript and Python write it; one without a zone is in UTC. Empty if malformed.
std::optional<EpochMs> parse_timestamp(std::string_view);

}  // namespace inbox_poller::poller::cli

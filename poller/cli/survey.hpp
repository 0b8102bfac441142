// What lies on the disk of a team, for a person: teams below a root, their inboxes and locks, whose each inbox is.
// Nothing is changed, and nothing but inboxes and rosters is opened. What it is not: the daemon's view, which knows
// what was decided and owed. Source: docs/reference/wire.md W1, W2, W9.
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
/// Waits, blocking this thread: for commands, which do one thing.
void wait_here(std::chrono::milliseconds);

/// A team's folder and the settings that hold for it.
struct TeamPlace {
  std::string name;
  config::TeamConfig config;  // `source` is empty when no team file speaks about it
  [[nodiscard]] std::string folder() const { return config.team.root + "/" + name; }
};

/// Every team below `root` (empty: the default one), as a file would have it that says nothing else.
config::TeamConfig any_team(std::string root, const config::Environment&);

/// The folders that the name or glob of `config` claims and that hold a roster or inboxes, by name. An error when the
/// root cannot be listed.
Result<std::vector<TeamPlace>> find_teams(FileSystem&, const config::TeamConfig& config);

enum class Whose {
  lead,
  member,
  alias,    // another name of the lead (team.aliases)
  sender,   // outside the roster, and welcome (delivery.senders)
  nobody,   // a phantom: a misspelt name, most of the time
  unknown,  // there is no readable roster to tell by
};
consteval auto words_of(Whose) {
  return std::to_array<std::string_view>({"lead", "member", "alias", "sender", "phantom", "unknown"});
}
inline std::string_view to_string(Whose whose) { return schema::name_of(whose); }
Whose whose_inbox(const std::string& inbox, const config::TeamConfig&, const std::string& lead,
                  const Result<schema::Roster>&);

/// Something at a lock's path.
struct LockSight {
  std::string path;
  FileStat stat;
  bool empty = true;  // a folder with nothing in it
};

struct InboxSight {
  std::string name;
  std::string path;
  Whose whose = Whose::unknown;
  std::optional<FileStat> stat;  // empty: it vanished while we looked
  ReadOutcome outcome = ReadOutcome::missing;
  std::string detail;
  std::size_t entries = 0;
  std::size_t unread = 0;
  std::size_t bad = 0;           // entries of wrong types
  bool bom = false;              // it begins with a byte order mark
  EpochMs oldest_unread_ms = 0;  // by its own time stamp; 0: none, or none that can be read
};

struct TeamSight {
  Result<schema::Roster> roster;
  std::string lead;
  std::vector<InboxSight> inboxes;  // by name
  std::vector<LockSight> locks;     // of inboxes and of the roster, by path
  std::optional<Error> problem;     // the folder of inboxes is there and cannot be looked into
};
TeamSight look_at_team(FileSystem&, const Clock&, const TeamPlace&, const Wait&);

/// Whether a worker takes answers of ours, as far as that is to be seen without a daemon.
struct WorkerAnswers {
  std::string name;
  handlers::AnswerAuthority worth;
};
std::vector<WorkerAnswers> workers_of(const schema::Roster&, const config::TeamConfig&, WorkerProcesses&);

/// What is at this lock's path, if anything.
std::optional<LockSight> look_at_lock(FileSystem&, const Directory& at, const std::string& name);

/// The lead's name: as configured, from the roster, or the client's own.
std::string lead_of(const config::TeamConfig&, const Result<schema::Roster>&);

/// Reads without a lock. A file in the middle of being written is read again for a quarter of a second.
ReadResult read_calmly(ArrayInboxes&, const std::string& inbox, const Wait&);

/// The instant of an ISO 8601 time stamp, as JavaScript and Python write them; without a zone it counts as UTC.
std::optional<EpochMs> parse_timestamp(std::string_view);

}  // namespace inbox_poller::poller::cli

// Sessions that living clients keep in their configuration folder (schema/client_session.hpp). Each is checked against
// its process number and the exact start of that process. Only files named by a number are read, links are not
// followed. Ignored: absent or unreadable files, dead processes, and systems that cannot compare process starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "handlers/lead_process.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/file_version.hpp"
#include "poller/processes.hpp"
#include "schema/client_session.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

struct LiveSession {
  schema::ClientSession said;
  ProcessRef process;
  long long began_ms = 0;  // start of the process, Unix epoch; 0: unknown
};

/// Evaluates a session as the lead's.
handlers::LeadSessionSight sight_of(const LiveSession&, const schema::Roster&);
/// Returns a unique name of the process, for the record.
std::string claim_of(const LiveSession&);
/// Describes the session, such as "process 42 (client 2.1.220)".
std::string words_of(const LiveSession&);

/// Lists all living sessions by process number; reads at most 1,000 files of at most 64 KiB. `folder`: an absolute
/// path.
std::vector<LiveSession> live_sessions(FileSystem&, Processes&, const std::string& folder);

/// Follows one session. While nothing changes a check costs one stat: of the folder, or of the session's file once
/// found. A missing folder is checked once a second.
class SessionWatch {
 public:
  /// An empty `folder` has no sessions.
  SessionWatch(FileSystem& files, Processes& processes, const Clock& clock, std::string folder)
      : files_(files), processes_(processes), clock_(clock), folder_(std::move(folder)) {}

  /// Finds the living session with this id; an empty id matches none. A process once found is followed while it lives,
  /// even with another session. True when the result of live() has changed.
  bool look(const std::string& session_id);
  [[nodiscard]] const std::optional<LiveSession>& live() const { return live_; }

 private:
  bool follow();
  bool find();
  bool set(std::optional<LiveSession>);
  [[nodiscard]] std::string path_of(long long pid) const { return folder_ + "/" + std::to_string(pid) + ".json"; }

  FileSystem& files_;
  Processes& processes_;
  const Clock& clock_;
  std::string folder_;
  std::string wanted_;
  std::optional<LiveSession> live_;
  std::optional<FileVersion> seen_;  // of the folder or the file; empty: read in any case
  SteadyTime alive_at_{};            // when the process was last seen alive
  std::optional<SteadyTime> no_folder_at_;  // when the folder was last found missing
};

}  // namespace inbox_poller::poller

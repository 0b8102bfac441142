// The sessions that clients keep in their configuration folder while they live (schema/client_session.hpp), each checked
// against its process: that number, begun at that very moment. Read only, and only files called by a number; links are
// not followed. Absent, unreadable, of a dead process or of a system where starts cannot be compared: as if not there.
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
  long long began_ms = 0;  // the process, since the Unix epoch; 0: cannot be told
};

/// What is known of it as the lead's.
handlers::LeadSessionSight sight_of(const LiveSession&, const schema::Roster&);
/// A name that no other process has, for the record.
std::string claim_of(const LiveSession&);
/// "process 42 (client 2.1.220)"
std::string words_of(const LiveSession&);

/// All that live now, by their processes' numbers; of at most 1,000 files of at most 64 KiB. `folder`: an absolute path.
std::vector<LiveSession> live_sessions(FileSystem&, Processes&, const std::string& folder);

/// Follows one session. At rest a look costs one stat: of the folder, or of the session's file once it is found.
class SessionWatch {
 public:
  /// An empty folder has no sessions.
  SessionWatch(FileSystem& files, Processes& processes, const Clock& clock, std::string folder)
      : files_(files), processes_(processes), clock_(clock), folder_(std::move(folder)) {}

  /// Looks for the living session with this id; an empty one is nobody's. A process that had it stays the one while it
  /// lives, whatever session it goes on with. True when what live() gives has changed.
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
  std::optional<FileVersion> seen_;  // of the folder, or of the file; empty: look whatever it is
  SteadyTime alive_at_{};            // when the process was last seen to live
};

}  // namespace inbox_poller::poller

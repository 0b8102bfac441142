// Which workers run as processes of this user, and whose answers they take: by the words on their command lines, where
// a client says which agent it is (--agent-id) and which lead's key it was given. Looked for only when somebody asks,
// for all workers of all teams at once, so that idle teams cost nothing. Source: docs/adr/0019.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/answers_count.hpp"
#include "poller/clock.hpp"
#include "poller/processes.hpp"

namespace inbox_poller::poller {

class WorkerProcesses {
 public:
  WorkerProcesses(Processes& processes, const Clock& clock) : processes_(processes), clock_(clock) {}

  struct Sight {
    handlers::WorkerProcess process = handlers::WorkerProcess::unseen;
    long long pid = 0;  // of the one that decided it
  };
  /// The worker with this agent id ("name@team"), as it is now. `joined_ms`: when it joined, by our clock; 0: long ago.
  /// Where several processes name it, one with a key decides.
  Sight look(const std::string& agent_id, long long joined_ms);

 private:
  struct Known {
    Sight sight;
    bool one_has_ended = false;  // of those that were seen; it may have come back, and a namesake would hide that
  };
  [[nodiscard]] Known known(const std::string& agent_id) const;
  [[nodiscard]] bool is_settled(const Sight&, long long joined_ms) const;
  void look_at_all();

  Processes& processes_;
  const Clock& clock_;
  std::map<std::string, std::vector<ProcessRef>> agents_;  // by agent id
  std::optional<SteadyTime> looked_;
  long long looked_ms_ = 0;
};

}  // namespace inbox_poller::poller

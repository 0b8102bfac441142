// The workers' processes of this user, and the lead whose answers they accept. Command lines name the agent
// (--agent-id) and the lead's key. All teams' workers are searched at once, and only on request, so that idle teams
// cost nothing. Source: docs/adr/0019.
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
    long long pid = 0;  // of the process that decided it
  };
  /// Returns the state of the worker with this agent id ("name@team"). `joined_ms`: when it joined, Unix epoch by the
  /// system's clock, which may have been set since; 0: unknown. If several processes name it, one with a key decides.
  Sight look(const std::string& agent_id, long long joined_ms);

 private:
  struct Known {
    Sight sight;
    bool one_has_ended = false;  // a seen process has ended; it may have restarted, hidden by a namesake
  };
  [[nodiscard]] Known known(const std::string& agent_id) const;
  [[nodiscard]] bool is_settled(const Sight&, long long joined_ms) const;
  void look_at_all();

  Processes& processes_;
  const Clock& clock_;
  std::map<std::string, std::vector<ProcessRef>> agents_;  // by agent id
  std::map<std::string, long long> joined_;  // by agent id, at its last look: another value is another process
  std::optional<SteadyTime> looked_;
  long long looked_ms_ = 0;
};

}  // namespace inbox_poller::poller

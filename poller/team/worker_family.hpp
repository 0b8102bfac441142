// Finds the processes of a worker: the worker itself, if its command line does not name it, and its descendants. A
// process counts only while it, or an ancestor, is seen to live below the worker. Never included: the lead, another
// worker, the descendants of both, processes of another user, and our own ancestors.
#pragma once

#include <optional>
#include <vector>

#include "handlers/shutdown.hpp"
#include "poller/context/team_state.hpp"
#include "poller/processes.hpp"

namespace inbox_poller::poller {

class WorkerFamily {
 public:
  WorkerFamily(const TeamState& context, Processes& processes) : context_(context), processes_(processes) {}

  /// Finds the worker in a pane where no command line names it. This is the pane's first process. If that is a shell,
  /// it is the foreground process that began when the worker joined.
  ProcessRef worker_in(const ProcessRef& first, EpochMs joined_ms);
  /// Process that leads the team according to the roster, unless its number now belongs to another process.
  [[nodiscard]] std::optional<ProcessRef> lead() const;
  /// Descendants of the roots that may be ended with the worker; without the worker itself.
  std::vector<ProcessRef> of(const handlers::Shutdown&, const std::vector<ProcessRef>& roots);
  /// True when a process was added, or one lives that does not belong to the family any more. Ended processes do not
  /// count.
  [[nodiscard]] bool has_changed(const std::vector<ProcessRef>& recorded, const std::vector<ProcessRef>& now) const;

 private:
  const TeamState& context_;
  Processes& processes_;
};

}  // namespace inbox_poller::poller

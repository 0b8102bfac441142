// Which processes are a worker's: itself, where its command line does not say so, and what it started.
// Invariant: nobody else's. A process counts only while it, or what it descends from, is seen to live below the worker;
// never the lead, another worker and what descends from those, another user's process, or what we descend from.
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

  /// The worker in a pane where nothing names it: the pane's first process, or, when that is a shell, what runs in
  /// front of it and began when the worker joined.
  ProcessRef worker_in(const ProcessRef& first, EpochMs joined_ms);
  /// Who says in the roster that it leads the team, unless that number is another one's by now.
  [[nodiscard]] std::optional<ProcessRef> lead() const;
  /// What descends from the roots now and may be ended with the worker, which is not among it.
  std::vector<ProcessRef> of(const handlers::Shutdown&, const std::vector<ProcessRef>& roots);
  /// Whether somebody came, or lives and is none of it any more. Those that ended change nothing.
  [[nodiscard]] bool has_changed(const std::vector<ProcessRef>& recorded, const std::vector<ProcessRef>& now) const;

 private:
  const TeamState& context_;
  Processes& processes_;
};

}  // namespace inbox_poller::poller

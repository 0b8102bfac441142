// Port to a task queue that needs upkeep, in mailbox systems that have one. Expired claims are released, and finished
// tasks are reported to the person or program that merges them. All calls return at once.
#pragma once

#include <vector>

#include "poller/mailbox/task_store.hpp"

namespace inbox_poller::poller {

/// Number of tasks in each state.
struct TaskCounts {
  std::size_t open = 0, claimed = 0, done = 0, dead = 0;
};

class TaskEvents {
 public:
  virtual ~TaskEvents() = default;

  /// Counts the tasks as they are now; opens no task.
  [[nodiscard]] virtual Result<TaskCounts> counts() const = 0;

  /// Releases claimed tasks whose lease has expired. A release needs two scans some seconds apart, so call it
  /// repeatedly.
  virtual Result<TaskSweep> sweep() = 0;
  /// Returns the tasks finished since `since_ns` (nanoseconds of the system's wall clock), without those returned
  /// before.
  virtual Result<std::vector<TaskFile>> finished(long long since_ns) = 0;
};

}  // namespace inbox_poller::poller

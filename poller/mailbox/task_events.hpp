// Port to a task queue that needs upkeep, in mailbox systems that have one. Expired claims are released, and finished
// tasks are reported to the person or program that merges them. All calls return at once.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// A task that a sweep released from its holder.
struct GivenBack {
  std::string id;
  std::string holder;
  std::string dead_reason;  // empty: it can be claimed again
};

struct FinishedTask {
  std::string id;
  boost::json::object task;  // as stored, with its result
};

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
  virtual Result<std::vector<GivenBack>> sweep() = 0;
  /// Describes the tasks that the last sweep could not check; it checked all others.
  [[nodiscard]] virtual std::vector<std::string> troubles() const = 0;
  /// Returns the tasks finished since `since_ns` (nanoseconds of the system's wall clock), without those returned
  /// before.
  virtual Result<std::vector<FinishedTask>> finished(long long since_ns) = 0;
};

}  // namespace inbox_poller::poller

// A task queue that needs somebody to keep it in order, where a mailbox system has one: what its claimers do not finish
// is given back, and what is finished is told to whoever merges it. All calls return at once.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::poller {

/// A task that a sweep took away from its holder.
struct GivenBack {
  std::string id;
  std::string holder;
  std::string dead_reason;  // empty: it can be claimed again
};

struct FinishedTask {
  std::string id;
  boost::json::object task;  // as it stands there, its result included
};

/// How many tasks stand where.
struct TaskCounts {
  std::size_t open = 0, claimed = 0, done = 0, dead = 0;
};

class TaskEvents {
 public:
  virtual ~TaskEvents() = default;

  /// As it is now; opens no task.
  [[nodiscard]] virtual Result<TaskCounts> counts() const = 0;

  /// Gives back what is claimed and whose lease is over. Takes two looks, some seconds apart: to be called again and
  /// again.
  virtual Result<std::vector<GivenBack>> sweep() = 0;
  /// What the last sweep could not look at; the others went on.
  [[nodiscard]] virtual std::vector<std::string> troubles() const = 0;
  /// What was finished since that moment (nanoseconds of the system's clock) and was not returned before.
  virtual Result<std::vector<FinishedTask>> finished(long long since_ns) = 0;
};

}  // namespace inbox_poller::poller

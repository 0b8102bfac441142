// Store of the tasks that agents share, for the programs that maintain or show them; independent of where they are
// stored.
#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "schema/envelope.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

struct TaskSettings {
  std::chrono::milliseconds default_lease = std::chrono::seconds(120);
  unsigned max_attempts = 3;  // a task leased so often and not done becomes dead
};

/// Delay between a sweep that began a release and the sweep that ends it.
inline constexpr std::chrono::milliseconds between_sweeps{2100};
/// Number of sweeps for one release. A lease may end within the grace of a sweep; the next sweep then begins the
/// release, and the third ends it.
inline constexpr int most_sweeps = 3;

enum class TaskPlace { open, claimed, done, dead, given_back };  // given_back: on its way from claimed to open

/// A task and its state.
struct TaskFile {
  TaskPlace place = TaskPlace::open;
  std::string holder;  // actor that has claimed it
  std::string name;    // name of its file; the sort key where there are no files
  schema::Envelope task;
};

/// Result of one sweep.
struct TaskSweep {
  std::vector<TaskFile> gone;   // released, or put among the dead letters
  std::vector<Error> troubles;  // one for each task that the sweep could not check; it checked all others
  bool has_begun = false;       // a sweep `between_sweeps` later has more to do: a release was begun, or a lease just ended
};

class TaskStore {
 public:
  using Task = schema::Envelope;

  virtual ~TaskStore() = default;

  /// Adds an open task. claim() takes higher priorities first, then older tasks.
  virtual Result<Task> post(const std::string& actor, const std::string& type, const boost::json::value& payload,
                            std::optional<double> priority) = 0;
  /// Claims the next open task for `lease`, of `type` if given; no value when there is none.
  virtual Result<std::optional<Task>> claim(const std::string& actor, const std::optional<std::string>& type,
                                            std::chrono::milliseconds lease) = 0;
  /// Completes a held task. Errors: "task.done", "task.not_held", "task.unknown" (no task ever had that id; nothing is
  /// kept). After the first two, the result is kept among the dead letters, and the message names the place.
  virtual Result<Task> complete(const std::string& actor, const std::string& id, const boost::json::value& result) = 0;
  /// Extends the lease to `lease` from now. Errors: "task.done", "task.not_held", "task.unknown".
  virtual Result<Task> heartbeat(const std::string& actor, const std::string& id, std::chrono::milliseconds lease) = 0;
  /// Releases a held task and records the reason. Errors: "task.done", "task.not_held", "task.unknown".
  virtual Result<Task> abandon(const std::string& actor, const std::string& id, const std::string& reason) = 0;

  /// Runs one scan: releases claimed tasks whose lease has expired, in one step or in two some seconds apart.
  virtual Result<TaskSweep> sweep() = 0;

  /// Returns all readable tasks, in order of place and name.
  [[nodiscard]] virtual Result<std::vector<TaskFile>> all() const = 0;
  /// Completes the beginning of an id to the only possible one; late results count only if no task matches. With an
  /// actor, prefers a task that the actor holds under exactly this id. Errors: "mailbox.usage" (ambiguous or empty),
  /// "task.unknown".
  [[nodiscard]] virtual Result<std::string> whole_id(const std::string& beginning, const std::string& actor) const = 0;
  /// Moves a dead letter back, so that it can be claimed. Error: "task.not_dead".
  virtual Result<Task> requeue(const std::string& id) = 0;
};

}  // namespace inbox_poller::poller

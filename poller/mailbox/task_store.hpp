// The tasks that agents share, for whoever keeps them in order or shows them, whatever they are kept in.
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
  unsigned max_attempts = 3;  // handed out so often and not done: dead
};

/// So long after a sweep that began something the next one ends it.
inline constexpr std::chrono::milliseconds between_sweeps{2100};
/// A lease that ends within the grace of a sweep is begun by the next one and given back by the third.
inline constexpr int most_sweeps = 3;

enum class TaskPlace { open, claimed, done, dead, given_back };  // given_back: on its way from claimed to open

/// A task, and where it stands.
struct TaskFile {
  TaskPlace place = TaskPlace::open;
  std::string holder;  // whoever has claimed it
  std::string name;    // of its file; what orders it where there are no files
  schema::Envelope task;
};

class TaskStore {
 public:
  using Task = schema::Envelope;

  virtual ~TaskStore() = default;

  /// Higher priorities first, then the oldest.
  virtual Result<Task> post(const std::string& actor, const std::string& type, const boost::json::value& payload,
                            std::optional<double> priority) = 0;
  virtual Result<std::optional<Task>> claim(const std::string& actor, const std::optional<std::string>& type,
                                            std::chrono::milliseconds lease) = 0;
  /// "task.done", "task.not_held": the result is kept among the dead letters, and the text says where. "task.unknown":
  /// no task ever had that id, and nothing is kept.
  virtual Result<Task> complete(const std::string& actor, const std::string& id, const boost::json::value& result) = 0;
  virtual Result<Task> heartbeat(const std::string& actor, const std::string& id, std::chrono::milliseconds lease) = 0;
  virtual Result<Task> abandon(const std::string& actor, const std::string& id, const std::string& reason) = 0;

  /// One look: gives back what is claimed and whose lease is over, in one step or in two some seconds apart. Those that
  /// it gave back or put among the dead letters.
  virtual Result<std::vector<TaskFile>> sweep() = 0;
  /// What the last sweep could not look at, one by one; the others went on.
  [[nodiscard]] virtual const std::vector<Error>& troubles() const = 0;
  /// True when the next sweep, `between_sweeps` later, has more to do: something was begun, or a lease has just ended.
  [[nodiscard]] virtual bool has_begun() const = 0;

  /// All that can be read, in order of place and name.
  [[nodiscard]] virtual Result<std::vector<TaskFile>> all() const = 0;
  /// The id that begins so, of the one task that it can mean; late results count only when no task does. "box.usage"
  /// when there are several or nothing is said, "task.unknown".
  [[nodiscard]] virtual Result<std::string> whole_id(const std::string& beginning) const = 0;
  /// The same for what an actor says of a task: what it holds under just this id is meant.
  [[nodiscard]] virtual Result<std::string> whole_id(const std::string& beginning, const std::string& actor) const = 0;
  /// From the dead letters back to where it can be claimed. "task.not_dead".
  virtual Result<Task> requeue(const std::string& id) = 0;
};

}  // namespace inbox_poller::poller

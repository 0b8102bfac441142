// What a worker leaves behind in its team's task list: tasks that it owns.
// Invariants: those of arrays_mailbox.hpp; of each task only the owner and the status change. All tasks of a list are
// guarded by one lock, the directory `.lock.lock` (beside `.lock`, the empty file that it is named after).
// Source: docs/reference/wire.md W5.
#pragma once

#include <string>
#include <vector>

#include "poller/mailbox/arrays/replacement.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

class TeamFiles {
 public:
  TeamFiles(FileSystem& files, const Clock& clock, std::uint64_t size_limit)
      : files_(files), clock_(clock), size_limit_(size_limit), locks_(files, clock) {}

  TasksReleased release_tasks(const Directory& tasks, const std::string& name, const std::string& agent_id);
  TaskAssigned assign_task(const Directory& tasks, const std::string& task, const std::string& name,
                           const std::function<bool(const std::string& owner)>& is_there);

 private:
  /// A task to be given back.
  struct Held {
    std::string file;
    Snapshot snapshot;
    schema::Task task;
    std::string wanted;
  };
  struct Look {
    std::vector<Held> held;   // some of them, when there are many
    bool writer = false;      // a file is being written by somebody: look again later
    std::string passed_over;  // files that are no tasks, or cannot be read
  };

  Result<Look> look_for_tasks(const Directory& tasks, const std::string& name, const std::string& agent_id);
  WriteResult release(const Directory& tasks, const std::vector<Held>& held, std::vector<schema::Task>& released);

  FileSystem& files_;
  const Clock& clock_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
};

}  // namespace inbox_poller::poller

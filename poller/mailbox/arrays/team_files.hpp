// The tasks of a team's task list that a worker owns.
// Invariants: those of arrays_mailbox.hpp; only the owner and the status of a task change. One lock guards all tasks
// of a list: the directory `.lock.lock`, in the folder of the empty file `.lock`. Source: docs/reference/wire.md W5.
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
  /// A task to be released or assigned.
  struct Held {
    std::string file;
    Snapshot snapshot;
    schema::Task task;
    std::string wanted;
  };
  struct TaskScan {
    std::vector<Held> held;   // at most one batch of them
    bool writer = false;      // a peer is writing a file: try again later
    std::string passed_over;  // files that are not tasks, or cannot be read
  };

  Result<TaskScan> scan_tasks(const Directory& tasks, const std::string& name, const std::string& agent_id);
  WriteResult release(const Directory& tasks, const std::vector<Held>& held, std::vector<schema::Task>& released);

  FileSystem& files_;
  const Clock& clock_;
  std::uint64_t size_limit_;  // bytes
  LockDirectory locks_;
};

}  // namespace inbox_poller::poller

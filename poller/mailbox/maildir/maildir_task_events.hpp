// The events of a maildir's task queue, for the daemon that sweeps it. Claims and completions are in TaskQueue.
// Source: docs/adr/0035-maildir-teams.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "poller/mailbox/task_events.hpp"
#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

/// Task events of one maildir root; `files` and `clock` must outlive this object.
class MaildirTaskEvents final : public TaskEvents {
 public:
  MaildirTaskEvents(FileSystem& files, const Clock& clock, const std::string& root, TaskSettings settings)
      : root_(files, clock, root), tasks_(root_, settings) {}

  [[nodiscard]] Result<TaskCounts> counts() const override { return tasks_.counts(); }
  Result<TaskSweep> sweep() override { return tasks_.sweep(); }
  Result<std::vector<TaskFile>> finished(long long since_ns) override;

 private:
  MaildirRoot root_;
  TaskQueue tasks_;
  std::set<std::string> seen_;  // files in done/ that need no further check
};

}  // namespace inbox_poller::poller

// The task queue of a maildir, for a daemon that keeps it in order. Source: docs/adr/0036-maildir-teams.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "poller/mailbox/task_events.hpp"
#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

class MaildirTaskEvents final : public TaskEvents {
 public:
  MaildirTaskEvents(FileSystem& files, const Clock& clock, const std::string& root, TaskSettings settings)
      : root_(files, clock, root), tasks_(root_, settings) {}

  [[nodiscard]] Result<TaskCounts> counts() const override { return tasks_.counts(); }
  Result<std::vector<GivenBack>> sweep() override;
  [[nodiscard]] std::vector<std::string> troubles() const override;
  Result<std::vector<FinishedTask>> finished(long long since_ns) override;

 private:
  MaildirRoot root_;
  TaskQueue tasks_;
  std::set<std::string> seen_;  // files in done/ that need not be looked at again
};

}  // namespace inbox_poller::poller

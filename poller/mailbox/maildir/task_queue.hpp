// The task queue that agents share: the holders of tasks, and the tasks that a holder does not finish.
//   open/ --claim--> claimed/<actor>/ --complete--> done/      --abandon, sweep--> open/, or dead/ after some attempts
// Invariants: a task is in one place, and one rename decides its holder. A holder's change replaces the claimed file
// only as it was read, so that a holder notices the loss of its task. InboxPoller never repeats a task of done/.
// A late result is kept in dead/. Peers guarantee less (docs/reference/mailboxes.md lists the cost); their half-done
// claims and completions are completed here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "poller/mailbox/envelopes.hpp"
#include "poller/mailbox/file_version.hpp"
#include "poller/mailbox/maildir/id_index.hpp"
#include "poller/mailbox/maildir/maildir_root.hpp"

namespace inbox_poller::poller {

/// Task queue of one root; `root` must outlive it. Operations of the interface have the errors named there.
class TaskQueue final : public TaskStore {
 public:
  TaskQueue(const MaildirRoot& root, TaskSettings settings)
      : root_(root), settings_(settings), done_(root, "tasks/done") {}

  Result<Task> post(const std::string& actor, const std::string& type, const boost::json::value& payload,
                    std::optional<double> priority) override;
  Result<std::optional<Task>> claim(const std::string& actor, const std::optional<std::string>& type,
                                    std::chrono::milliseconds lease) override;
  Result<Task> complete(const std::string& actor, const std::string& id, const boost::json::value& result) override;
  Result<Task> heartbeat(const std::string& actor, const std::string& id, std::chrono::milliseconds lease) override;
  Result<Task> abandon(const std::string& actor, const std::string& id, const std::string& reason) override;

  /// Scans once: begins to return claims whose lease is over, and completes returns that began 2 s ago or earlier.
  /// Does nothing while another InboxPoller process sweeps.
  Result<TaskSweep> sweep() override;

  /// Counts the tasks of each place.
  Result<TaskCounts> counts() const;
  /// Lists at most `most` ids that this actor holds.
  Result<std::vector<std::string>> held_by(const std::string& actor, std::size_t most) const;
  [[nodiscard]] Result<std::vector<TaskFile>> all() const override;
  /// Finds a task in any place. Errors: "task.unknown".
  Result<TaskFile> find(const std::string& id) const;
  [[nodiscard]] Result<std::string> whole_id(const std::string& beginning, const std::string& actor) const override;
  Result<Task> requeue(const std::string& id) override;

 private:
  struct Waiting {  // an open task, without its payload
    double priority = 0, ts = 0;
    std::string name, type;
  };
  struct Held {
    Directory folder;
    std::string name;
    Letterfile file;
  };
  struct FirstSeen {
    std::uint64_t ino = 0;
    std::int64_t mtime_ns = 0;
    SteadyTime since{};
  };

  Result<std::vector<Waiting>> waiting();
  Result<std::optional<Task>> claim_one(const std::string& actor, const std::string& name,
                                        std::chrono::milliseconds lease);
  [[nodiscard]] std::string lease_end(std::chrono::milliseconds lease) const;

  Result<std::optional<Held>> held(const std::string& actor, const std::string& id) const;
  [[nodiscard]] Error not_held(const std::string& actor, const std::string& id) const;
  Error keep_late(const std::string& actor, const std::string& id, const boost::json::value& result);
  enum class Finished { yes, lost, not_yet };
  Result<Finished> finish(const Held&, const std::string& actor, std::uint64_t ino) const;
  Result<TaskFile> release_claim(const Directory& folder, const std::string& name, Task) const;

  /// Returns true if the last sweep found no claim and none was made since.
  [[nodiscard]] bool rests();
  Result<std::vector<TaskFile>> scan();
  /// Returns the versions of the folders; empty if a later change might not be visible in them.
  [[nodiscard]] std::vector<FileVersion> seen_folders() const;
  [[nodiscard]] bool is_over(const std::string& where, const Letterfile&);
  Status end_begun(std::vector<TaskFile>& gone);
  Status end_one(const std::string& holder, const std::string& name, std::vector<TaskFile>& gone);
  Status begin(const std::string& holder, const std::string& name);
  Status bury_unreadable();
  Result<bool> is_done(const Task&, const std::string& name);
  /// Moves a task to a folder, under another name if a task of another id has its name.
  /// Errors: "io.EEXIST" if a copy of the task is there.
  [[nodiscard]] Result<std::string> move_task(const Directory& from, const std::string& name, const Directory& to,
                                              const std::string& as, const Task&) const;
  /// Lists the actors with a folder for claims, sorted.
  [[nodiscard]] Result<std::vector<std::string>> holders() const;
  /// Lists the actors whose claims are being given back, sorted.
  [[nodiscard]] Result<std::vector<std::string>> swept_holders() const;
  [[nodiscard]] Result<std::vector<std::string>> claimed_folders() const;

  const MaildirRoot& root_;
  const TaskSettings settings_;
  IdIndex done_;
  std::map<std::string, Waiting> waiting_;   // by name
  std::map<std::string, FirstSeen> seen_;    // claims, by holder/name
  std::vector<Error> troubles_;
  std::vector<FileVersion> rest_;            // folders before a sweep that found nothing
  SteadyTime rests_since_{};
  std::map<std::pair<std::string, std::string>, SteadyTime> begun_;  // start of the return, by holder and name
  bool ends_soon_ = false;                   // a lease ended within the grace, or another process swept
};

}  // namespace inbox_poller::poller

// Ports to the members of a team in every mailbox system, and to the task list of a team that has one. All calls return
// at once.
#pragma once

#include <string>
#include <vector>

#include "poller/mailbox/mailbox.hpp"
#include "schema/error.hpp"
#include "schema/roster.hpp"
#include "schema/task.hpp"

namespace inbox_poller::poller {

/// Copy of the roster as last read completely.
struct RosterCopy {
  std::string bytes;       // empty: no roster was read
  std::uint64_t file = 0;  // identifies the file that was copied
};

struct TasksReleased : WriteReceipt {  // `gone`: there is no task list
  std::vector<schema::Task> tasks;  // released by this call
};

struct TaskAssigned : WriteReceipt {  // `refused`: `detail` says why; `unchanged`: this member has it
  schema::Task task;
};

/// Checks whether this task may be assigned to `name`. Returns `done` if so, `unchanged` if `name` owns it, or
/// `refused` with the reason. `is_there` tells whether an owner is a present member.
inline WriteReceipt may_assign(const schema::Task& task, const std::string& name,
                            const std::function<bool(const std::string& owner)>& is_there) {
  if (!task.is_unfinished()) return {WriteStatus::refused, "task " + task.id + " is " + task.status};
  if (task.owner == name) return {WriteStatus::unchanged, {}};
  if (!task.owner.empty() && is_there(task.owner))
    return {WriteStatus::refused, "task " + task.id + " is " + task.owner + "'s, who is there"};
  return {};
}

class RosterStore {
 public:
  virtual ~RosterStore() = default;

  /// Returns false while the result of the last roster() is certainly current; opens nothing. Call it before the other
  /// scans of a poll, which reuse its findings.
  virtual bool roster_changed() = 0;
  /// Reads the team's roster. Errors: "roster.missing" (not a team, or not yet), "roster.empty" (the file has no
  /// content; a writer may be active), "roster.lost" (the same for so long that no writer can be active; the copy is the
  /// correct content), and others of the system.
  virtual Result<schema::Roster> roster() = 0;
  /// Returns the copy of the roster as roster() last read it completely.
  [[nodiscard]] virtual const RosterCopy& roster_copy() const = 0;
  /// Sets the copy that an earlier process read. Call it before roster(). A system that needs no copy ignores it.
  virtual void remember_roster(RosterCopy) {}
  /// Restores the copy without these members, if the roster is lost and unchanged since roster() saw it.
  virtual WriteReceipt mend_roster(const std::vector<std::string>& /*without*/) {
    return {WriteStatus::gone, "the roster of this mailbox system is not ours to restore"};
  }

  /// Removes a member from the roster and leaves all other bytes as they are. `unchanged` when the name is not in it.
  virtual WriteReceipt remove_member(const std::string& name) = 0;
  /// Adds a member: appends the bytes of its entry. `unchanged` when the roster has the name; `refused` where the
  /// mailbox system does not let us add members.
  virtual WriteReceipt add_member(const std::string& /*name*/, const std::string& /*entry*/) {
    return {WriteStatus::refused, "members of this mailbox system are not added by others"};
  }
};

/// The task list of a team whose lead gives out tasks. In the other systems, members claim tasks themselves.
class TaskBoard {
 public:
  virtual ~TaskBoard() = default;

  /// Releases every unfinished task of this member and returns the released tasks. Skips files that are not tasks.
  virtual TasksReleased release_tasks(const std::string& name, const std::string& agent_id) = 0;
  /// Makes this member the owner of an unfinished task, unless a present member owns it. `gone`: no such task.
  virtual TaskAssigned assign_task(const std::string& task, const std::string& name,
                                   const std::function<bool(const std::string& owner)>& is_there) = 0;
};

}  // namespace inbox_poller::poller

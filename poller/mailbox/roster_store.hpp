// Who is in a team, as every mailbox system keeps it, and what goes when a member does. All calls return at once.
#pragma once

#include <string>
#include <vector>

#include "poller/mailbox/mailbox.hpp"
#include "schema/error.hpp"
#include "schema/roster.hpp"
#include "schema/task.hpp"

namespace inbox_poller::poller {

/// A roster as it was last read whole.
struct RosterCopy {
  std::string bytes;       // empty: none was
  std::uint64_t file = 0;  // what tells this copy's original from another one
};

struct TasksReleased : WriteReceipt {  // `gone`: there is no task list
  std::vector<schema::Task> tasks;  // given back by this call
};

struct TaskAssigned : WriteReceipt {  // `refused`: as `detail` says; `already`: it is this member's
  schema::Task task;
};

/// Why this task is not given to this member now; `done` when it can be.
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

  /// Opens nothing: false while what roster() last returned is certainly still what is there. To be called first of the
  /// looks of a poll, which share what it finds.
  virtual bool roster_changed() = 0;
  /// The team's roster. An error "roster.missing" means that this is not a team (yet), "roster.empty" that what should
  /// hold it holds nothing.
  virtual Result<schema::Roster> roster() = 0;
  /// What roster() last read whole.
  [[nodiscard]] virtual const RosterCopy& roster_copy() const = 0;
  /// What an earlier process read whole; to be called before roster().
  virtual void remember_roster(RosterCopy) = 0;
  /// True when roster() found nothing where the copy was read, again and again for so long that nobody is writing it:
  /// the copy is what should stand there.
  [[nodiscard]] virtual bool roster_is_lost() const = 0;
  /// Puts the copy back without these members, if the roster is lost and still as it was seen.
  virtual WriteReceipt mend_roster(const std::vector<std::string>& without) = 0;

  /// Takes a member out of the roster; everything else stays. `already` when it is out.
  virtual WriteReceipt remove_member(const std::string& name) = 0;
  /// Puts a member into the roster, the bytes of its entry behind the others'. `already` when there is one of its name;
  /// `refused` where rosters are not ours to add to.
  virtual WriteReceipt add_member(const std::string& /*name*/, const std::string& /*entry*/) {
    return {WriteStatus::refused, "members of this mailbox system are not added by others"};
  }
  /// Gives back every unfinished task of this member; tells which. What is no task is passed over.
  virtual TasksReleased release_tasks(const std::string& name, const std::string& agent_id) = 0;
  /// Makes this member the owner of an unfinished task, unless somebody who is there has it. `gone`: no such task.
  virtual TaskAssigned assign_task(const std::string& task, const std::string& name,
                                   const std::function<bool(const std::string& owner)>& is_there) = 0;
};

}  // namespace inbox_poller::poller

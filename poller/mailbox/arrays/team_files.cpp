#include "poller/mailbox/arrays/team_files.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace inbox_poller::poller {

namespace {

constexpr const char* task_list_file = ".lock";  // the task list's lock is named after it
// Limit of one hold of the lock: each task costs a few system calls, and keeps a file open until then.
constexpr std::size_t tasks_per_hold = 32;
constexpr int holds_per_call = 64;

/// True for names like "12.json", the only ones that tasks have.
bool is_task_file(std::string_view name) {
  constexpr std::string_view suffix = ".json";
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return false;
  return name.substr(0, name.size() - suffix.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

TasksReleased TeamFiles::release_tasks(const Directory& tasks, const std::string& name, const std::string& agent_id) {
  TasksReleased result;
  const auto end = [&](const WriteResult& how) {
    result.put = put_of(how.outcome);
    add_detail(result.detail, how.detail);
    return std::move(result);
  };
  for (int hold = 0; hold < holds_per_call; ++hold) {
    Result<TaskScan> scan = scan_tasks(tasks, name, agent_id);
    if (!scan) return end(stopped_by(scan.error()));
    result.detail = std::move(scan->passed_over);
    if (scan->held.empty()) {
      if (scan->writer) return end(stopped(WriteOutcome::changed, "a task is being written by another program"));
      const Status synced = files_.sync_dir(tasks);  // also for tasks released just before a crash
      return end(synced.ok() ? WriteResult{} : stopped_by(synced.error()));
    }
    const WriteResult how = release(tasks, scan->held, result.tasks);
    if (how.outcome != WriteOutcome::done) return end(how);
  }
  return end(stopped(WriteOutcome::changed, "there are more tasks than are given back at once"));
}

TaskAssigned TeamFiles::assign_task(const Directory& tasks, const std::string& task, const std::string& name,
                                    const std::function<bool(const std::string& owner)>& is_there) {
  TaskAssigned result;
  const auto end = [&](const WriteReceipt& how) {
    static_cast<WriteReceipt&>(result) = how;
    return std::move(result);
  };
  const std::string file = task + ".json";
  if (!is_task_file(file)) return end({WriteStatus::gone, {}});
  Snapshot snapshot = take_snapshot(files_, clock_, tasks, file, size_limit_);
  if (snapshot.outcome == ReadOutcome::missing) return end({WriteStatus::gone, {}});
  Result<schema::Task> found = schema::decode_task(snapshot.bytes);
  if (snapshot.outcome == ReadOutcome::torn || (!found && !snapshot.settled))
    return end({WriteStatus::busy, "task " + task + " is being written by another program"});
  if (snapshot.outcome != ReadOutcome::document) return end({WriteStatus::refused, snapshot.detail});
  if (!found) return end({WriteStatus::refused, found.error().message});
  result.task = *found;
  if (WriteReceipt may = may_assign(*found, name, is_there); may.put != WriteStatus::done) return end(may);
  Result<std::string> wanted = schema::assigned(snapshot.bytes, name);
  if (!wanted) return end({WriteStatus::refused, wanted.error().message});
  std::vector<Held> held;
  held.push_back({file, std::move(snapshot), *std::move(found), *std::move(wanted)});
  std::vector<schema::Task> done;
  const WriteResult how = release(tasks, held, done);
  if (how.outcome != WriteOutcome::done) return end({put_of(how.outcome), how.detail});
  const Status synced = files_.sync_dir(tasks);
  return synced.ok() ? end({WriteStatus::done, how.detail}) : end({WriteStatus::fault, synced.error().message});
}

Result<TeamFiles::TaskScan> TeamFiles::scan_tasks(const Directory& tasks, const std::string& name,
                                                  const std::string& agent_id) {
  TRY(auto names, files_.list(tasks));
  remove_litter(files_, tasks, names);
  std::erase_if(names, [](const std::string& file) { return !is_task_file(file); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  });
  TaskScan scan;
  const auto pass_over = [&](const std::string& file, const std::string& why) {
    add_detail(scan.passed_over, tasks.path + "/" + file + " was passed over: " + why);
  };
  for (const std::string& file : names) {
    if (scan.held.size() == tasks_per_hold) break;
    Snapshot snapshot = take_snapshot(files_, clock_, tasks, file, size_limit_);
    if (snapshot.outcome == ReadOutcome::missing) continue;
    if (snapshot.outcome == ReadOutcome::torn) {
      scan.writer = true;
      continue;
    }
    if (snapshot.outcome != ReadOutcome::document) {
      pass_over(file, snapshot.detail);
      continue;
    }
    Result<schema::Task> task = schema::decode_task(snapshot.bytes);
    if (!task && !snapshot.settled) {
      scan.writer = true;
      continue;
    }
    if (task.ok() && (!task->is_unfinished() || !task->is_owned_by(name, agent_id))) continue;
    Result<std::string> wanted = task.ok() ? schema::released(snapshot.bytes) : Result<std::string>(task.error());
    if (wanted)
      scan.held.push_back({file, std::move(snapshot), *std::move(task), *std::move(wanted)});
    else
      pass_over(file, wanted.error().message);
  }
  return scan;
}

WriteResult TeamFiles::release(const Directory& tasks, const std::vector<Held>& held,
                               std::vector<schema::Task>& released) {
  std::deque<TemporaryFile> fresh;
  for (const Held& one : held) {
    TemporaryFile& temporary = fresh.emplace_back(files_, tasks, one.file);
    if (const Status written = temporary.write(one.wanted, one.snapshot.mode); !written.ok())
      return stopped_by(written.error());
  }
  LockAttempt attempt = locks_.try_acquire(tasks, lock_name(task_list_file));
  if (attempt.outcome != LockOutcome::acquired) return not_locked(attempt);
  WriteResult result;
  for (std::size_t i = 0; i < held.size() && result.outcome == WriteOutcome::done; ++i) {
    result = swap_in(files_, tasks, held[i].file, held[i].snapshot, *attempt.lock, fresh[i]);
    if (result.outcome == WriteOutcome::done && !held[i].task.internal) released.push_back(held[i].task);
  }
  // A task that is gone by now needs nothing; the others are checked again.
  if (result.outcome == WriteOutcome::missing) result.outcome = WriteOutcome::changed;
  const LockRelease release = attempt.lock->release();
  add_detail(result.detail, attempt.detail);
  add_detail(result.detail, release.detail);
  return result;
}

}  // namespace inbox_poller::poller

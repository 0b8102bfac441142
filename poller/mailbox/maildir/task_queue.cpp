#include "poller/mailbox/maildir/task_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>
#include <tuple>

#include "poller/mailbox/maildir/task_files.hpp"

namespace inbox_poller::poller {

using schema::Envelope;
using std::chrono::milliseconds;

namespace {

constexpr int rounds = 5;  // of a change, while other processes of the same actor are faster

}  // namespace

std::string TaskQueue::lease_end(milliseconds lease) const {
  return schema::seconds_token(root_.clock().system_ns() +
                               std::chrono::duration_cast<std::chrono::nanoseconds>(lease).count());
}

Result<Envelope> TaskQueue::post(const std::string& actor, const std::string& type, const boost::json::value& payload,
                                 std::optional<double> priority) {
  TRY(const auto open, root_.made_folder(task_folder(TaskPlace::open)));
  const MaildirRoot::Fresh fresh = root_.fresh();
  Envelope task = open_task(actor, type, payload, priority, fresh.id, schema::seconds_token(fresh.ns));
  TRY(root_.put(open, fresh.name(), task));
  return task;
}

// --- claim

Result<std::vector<TaskQueue::Waiting>> TaskQueue::waiting() {
  TRY(const auto names, root_.names(task_folder(TaskPlace::open)));
  const std::set<std::string_view> there(names.begin(), names.end());
  std::erase_if(waiting_, [&](const auto& one) { return !there.contains(one.first); });
  std::vector<Waiting> order;
  if (names.empty()) return order;
  TRY(const auto open, root_.folder(task_folder(TaskPlace::open)));
  for (const std::string& name : names) {
    auto known = waiting_.find(name);
    if (known == waiting_.end()) {
      const Result<Letterfile> file = root_.read(open, name);
      if (!file) continue;  // read again later; the sweep handles a file that stays unreadable
      const Envelope& task = file->envelope;
      const Waiting one{task.number("priority").value_or(0), task.number("ts").value_or(0), name, task.text("type")};
      known = waiting_.emplace(name, one).first;
    }
    order.push_back(known->second);
  }
  std::sort(order.begin(), order.end(), [](const Waiting& a, const Waiting& b) {
    return std::tie(b.priority, a.ts, a.name) < std::tie(a.priority, b.ts, b.name);
  });
  return order;
}

Result<std::optional<Envelope>> TaskQueue::claim(const std::string& actor, const std::optional<std::string>& type,
                                                 milliseconds lease) {
  if (!begun_.empty()) {
    std::vector<TaskFile> gone;  // end own returns here, because the next sweep may be far away
    if (const Result<Directory> lock = locked_tasks(root_); lock) (void)end_begun(gone);
  }
  TRY(const auto order, waiting());
  for (const Waiting& one : order) {
    if (type && one.type != *type) continue;
    Result<std::optional<Envelope>> claimed = claim_one(actor, one.name, lease);
    if (!claimed || claimed->has_value()) return claimed;
  }
  return std::optional<Envelope>();
}

Result<std::optional<Envelope>> TaskQueue::claim_one(const std::string& actor, const std::string& name,
                                                     milliseconds lease) {
  TRY(const auto open, root_.folder(task_folder(TaskPlace::open)));
  TRY(const auto mine, root_.made_folder(claimed_folder(actor)));
  const Status moved = root_.files().move(open, name, mine, name, Onto::nothing);
  // Another actor was faster, or this actor has a copy, which is left to the sweep.
  if (!moved.ok() && (is_errno(moved.error(), ENOENT) || is_errno(moved.error(), EEXIST)))
    return std::optional<Envelope>();
  if (!moved.ok()) return moved.error();
  waiting_.erase(name);
  for (int round = 0; round < rounds; ++round) {
    const Result<Letterfile> file = root_.read(mine, name);
    if (!file && is_errno(file.error(), ENOENT)) return std::optional<Envelope>();
    if (!file) return file.error();
    TRY(const auto done, is_done(file->envelope, name));
    if (done) {
      (void)root_.files().unlink_at(mine, name);
      return std::optional<Envelope>();
    }
    Envelope task = file->envelope;
    write_claim(task, actor, root_.seconds_now(), lease_end(lease));
    const auto changed = root_.change(mine, name, *file, task);
    if (changed) {
      TRY(root_.files().sync_dir(open));
      return std::optional(std::move(task));
    }
    if (!is_errno(changed.error(), ENOENT)) return changed.error();
  }
  return std::optional<Envelope>();
}

Result<bool> TaskQueue::is_done(const Envelope& task, const std::string& name) {
  TRY(const auto found, done_.find(schema::identity_of(task), name));
  return found.has_value();
}

// --- operations of a holder

Result<std::optional<TaskQueue::Held>> TaskQueue::held(const std::string& actor, const std::string& id) const {
  TRY(const auto names, root_.names(claimed_folder(actor)));
  if (names.empty()) return std::optional<Held>();
  // Files with this id in their name come first.
  auto order = names;
  std::stable_partition(order.begin(), order.end(), [&](const auto& name) { return schema::id_hinted_by(name) == id; });
  for (const std::string& name : order) {
    TRY(auto folder, root_.folder(claimed_folder(actor)));
    Result<Letterfile> file = root_.read(folder, name);
    if (!file && !is_errno(file.error(), ENOENT) && file.error().code.starts_with("io.")) return file.error();
    if (file && schema::identity_of(file->envelope) == id)
      return std::optional(Held{std::move(folder), name, *std::move(file)});
  }
  return std::optional<Held>();
}

Error TaskQueue::not_held(const std::string& actor, const std::string& id) const {
  TRY(const auto found, find(id));
  return not_held_by(actor, id, found);
}

Result<Envelope> TaskQueue::heartbeat(const std::string& actor, const std::string& id, milliseconds lease) {
  for (int round = 0; round < rounds; ++round) {
    TRY(const auto mine, held(actor, id));
    if (!mine) break;
    Envelope task = mine->file.envelope;
    if (task.text("status") == "done") return Error{"task.done", "task " + id + " is done already"};
    task.set_raw("lease_expires_at", lease_end(lease));
    const auto changed = root_.change(mine->folder, mine->name, mine->file, task);
    if (changed) return task;
    if (!is_errno(changed.error(), ENOENT)) return changed.error();
  }
  return not_held(actor, id);
}

Result<Envelope> TaskQueue::complete(const std::string& actor, const std::string& id,
                                     const boost::json::value& result) {
  bool known = false;
  for (int round = 0; round < rounds; ++round) {
    TRY(auto mine, held(actor, id));
    if (!mine) break;
    known = true;
    Envelope task = mine->file.envelope;
    TRY(const auto done, is_done(task, mine->name));
    if (done) {
      const Error late = keep_late(actor, id, result);
      if (late.code.starts_with("task.")) (void)root_.files().unlink_at(mine->folder, mine->name);
      return late;
    }
    // Another process of this actor wrote a result, perhaps before it died. Its result comes first.
    const bool written = task.text("status") == "done";
    std::uint64_t ino = mine->file.stat.ino;
    if (!written) {
      write_result(task, result, root_.seconds_now());
      const auto changed = root_.change(mine->folder, mine->name, mine->file, task);
      if (!changed && is_errno(changed.error(), ENOENT)) continue;
      if (!changed) return changed.error();
      ino = *changed;
      mine->file.envelope = task;
    }
    TRY(const auto finished, finish(*mine, actor, ino));
    if (finished == Finished::not_yet) continue;
    if (finished == Finished::lost) break;
    const boost::json::object first = task.object();
    const boost::json::value* has = first.if_contains("result");
    if (!written || (has != nullptr && *has == result)) return task;
    break;
  }
  if (!known)
    if (const Result<TaskFile> found = find(id); !found && found.error().code == "task.unknown") return found.error();
  return keep_late(actor, id, result);
}

/// Moves a completed task to done/. `lost`: the task was taken away, or another result is there, which is final.
/// `not_yet`: the moved file was not a result, and is back in its place.
Result<TaskQueue::Finished> TaskQueue::finish(const Held& mine, const std::string& actor, std::uint64_t ino) const {
  TRY(const auto done, root_.made_folder(task_folder(TaskPlace::done)));
  const auto is_ours = [&](const Directory& at, const std::string& name) {
    const Result<FileStat> stat = root_.files().stat_at(at, name);
    return stat && stat->ino == ino;
  };
  const Result<std::string> moved = move_task(mine.folder, mine.name, done, mine.name, mine.file.envelope);
  if (moved) {
    // The name was moved, and another program may have replaced the file since the write.
    const Result<FileStat> stat = root_.files().stat_at(done, *moved);
    if (!stat && !is_errno(stat.error(), ENOENT)) return stat.error();
    if (stat && stat->ino == ino) return Finished::yes;
    const Result<Letterfile> other = root_.read(done, *moved);
    if (other && other->envelope.text("status") != "done" &&
        root_.move(done, *moved, mine.folder, mine.name).ok())
      return Finished::not_yet;
    return Finished::lost;
  }
  if (is_errno(moved.error(), EEXIST)) return Finished::lost;
  if (!is_errno(moved.error(), ENOENT)) return moved.error();
  // A sweep has just taken the file. The sweep moves a completed task to done/; otherwise this process does.
  if (is_ours(done, mine.name)) return Finished::yes;
  const Result<Directory> swept = root_.folder(swept_folder(actor));
  if (swept && is_ours(*swept, mine.name) && root_.move(*swept, mine.name, done, mine.name).ok()) return Finished::yes;
  return is_ours(done, mine.name) ? Finished::yes : Finished::lost;
}

Result<std::string> TaskQueue::move_task(const Directory& from, const std::string& name, const Directory& to,
                                         const std::string& as, const Envelope& task) const {
  const Status moved = root_.move(from, name, to, as);
  if (moved.ok()) return as;
  if (!is_errno(moved.error(), EEXIST)) return moved.error();
  const Result<Letterfile> there = root_.read(to, as);
  if (there && schema::identity_of(there->envelope) == schema::identity_of(task)) return moved.error();
  return root_.set_aside(from, name, to, as);
}

/// Keeps the result of a holder that has lost the task. The error names the place of the result and the task's holder.
Error TaskQueue::keep_late(const std::string& actor, const std::string& id, const boost::json::value& result) {
  Error error = not_held(actor, id);
  const Result<TaskFile> found = find(id);
  const Envelope letter = late_result(found ? found->task : Envelope().set("id", id), actor, result, error.message,
                                      root_.seconds_now());
  const std::string name = "late-" + root_.fresh().name();
  const Result<Directory> dead = root_.made_folder(task_folder(TaskPlace::dead));
  if (Status put = dead ? root_.put(*dead, name, letter) : Status(dead.error()); !put.ok())
    return {put.error().code, error.message + "; the result could NOT be kept: " + put.error().message};
  error.message += "; the result is kept in " + dead->path + '/' + name;
  return error;
}

Result<Envelope> TaskQueue::abandon(const std::string& actor, const std::string& id, const std::string& reason) {
  for (int round = 0; round < rounds; ++round) {
    TRY(const auto mine, held(actor, id));
    if (!mine) break;
    Envelope task = mine->file.envelope;
    if (task.text("status") == "done") return Error{"task.done", "task " + id + " is done already"};
    write_abandoned(task, actor, reason, settings_.max_attempts, root_.seconds_now());
    const auto changed = root_.change(mine->folder, mine->name, mine->file, task);
    if (!changed && is_errno(changed.error(), ENOENT)) continue;
    if (!changed) return changed.error();
    const Result<TaskFile> gone = release_claim(mine->folder, mine->name, std::move(task));
    if (gone) return gone->task;
    if (!is_errno(gone.error(), ENOENT)) return gone.error();
    break;
  }
  return not_held(actor, id);
}

/// Moves a returned task to open/, or to dead/, by its status.
Result<TaskFile> TaskQueue::release_claim(const Directory& folder, const std::string& name, Envelope task) const {
  const TaskPlace place = task.text("status") == "dead" ? TaskPlace::dead : TaskPlace::open;
  const std::string target = place == TaskPlace::open ? name : "dead-" + name;
  TRY(const auto to, root_.made_folder(task_folder(place)));
  Result<std::string> moved = move_task(folder, name, to, target, task);
  if (!moved && is_errno(moved.error(), EEXIST)) {  // a peer's sweep has put a copy there, and one is enough
    TRY(root_.files().unlink_at(folder, name));
    moved = target;
  }
  if (!moved) return moved.error();
  return TaskFile{place, {}, *std::move(moved), std::move(task)};
}

}  // namespace inbox_poller::poller

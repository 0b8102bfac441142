// The sweep of the task queue, in two steps, and the queries of people.
//
// A peer's heartbeat or completion reads the file, writes a new one, and renames it onto the name. If a sweep takes the
// claim in between, the file appears again. A claim that is over is therefore first moved to claimed/sweep.HOLDER/,
// where its holder does not find it any more. Two seconds later the sweep returns the task, unless it is back in its
// place or done. Other programs see the task among the claimed ones meanwhile.
#include <algorithm>
#include <cerrno>
#include <set>

#include "handlers/task_lease.hpp"
#include "poller/mailbox/maildir/task_files.hpp"
#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

using schema::Envelope;

namespace {

constexpr std::chrono::seconds settles{2};
constexpr std::chrono::minutes rests_at_most{1};
constexpr std::int64_t unreadable_for_ns = 24LL * 3600 * 1'000'000'000;

bool was_taken(const Error& error) { return is_errno(error, ENOENT); }

double in_seconds(SteadyTime::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

bool TaskQueue::is_over(const std::string& where, const Letterfile& file) {
  const SteadyTime now = root_.clock().steady();
  FirstSeen& seen = seen_[where];
  if (seen.ino != file.stat.ino || seen.mtime_ns != file.stat.mtime_ns || seen.since == SteadyTime{})
    seen = {file.stat.ino, file.stat.mtime_ns, now};
  const handlers::ClaimSeen claim{file.envelope.number("claimed_at"), file.envelope.number("lease_expires_at"),
                                  static_cast<double>(root_.clock().system_ms()) / 1000,
                                  static_cast<double>(root_.clock().wall_ms()) / 1000, in_seconds(now - seen.since)};
  const double default_lease = std::chrono::duration<double>(settings_.default_lease).count();
  const bool is_over = handlers::lease_is_over(claim, default_lease);
  if (!is_over && handlers::lease_has_ended(claim)) ends_soon_ = true;
  return is_over;
}

/// A claim changes open/, which ends the rest. A claim that was made in another way is found after `rests_at_most`.
bool TaskQueue::rests() {
  if (rest_.empty() || root_.clock().steady() - rests_since_ >= rests_at_most) return false;
  return rest_ == seen_folders();
}

std::vector<FileVersion> TaskQueue::seen_folders() const {
  std::vector<FileVersion> seen;
  for (const std::string& below : {std::string("tmp"), task_folder(TaskPlace::open), task_folder(TaskPlace::claimed)}) {
    const auto folder = root_.files().stat_at(absolute, root_.path() + '/' + below);
    if (!folder && !was_taken(folder.error())) return {};
    seen.push_back(folder ? version_of(*folder) : FileVersion());
    if (folder && !is_settled(seen.back(), root_.clock().system_ms())) return {};
  }
  return seen;
}

Result<TaskSweep> TaskQueue::sweep() {
  TRY(auto gone, scan());
  return TaskSweep{std::move(gone), troubles_, !begun_.empty() || ends_soon_};
}

Result<std::vector<TaskFile>> TaskQueue::scan() {
  std::vector<TaskFile> gone;
  if (rests()) return gone;
  rest_.clear();
  std::vector<FileVersion> before = seen_folders();
  const Result<Directory> lock = locked_tasks(root_);
  ends_soon_ = !lock && is_errno(lock.error(), EAGAIN);
  if (!lock && (was_taken(lock.error()) || ends_soon_)) return gone;
  if (!lock) return lock.error();
  TRY(end_begun(gone));

  TRY(const auto whose, holders());
  std::set<std::string> met;
  for (const std::string& holder : whose) {
    TRY(const auto names, root_.names(claimed_folder(holder)));
    for (const std::string& name : names) {
      met.insert(holder + '/' + name);
      if (Status one = begin(holder, name); !one.ok() && !was_taken(one.error()))
        troubles_.push_back(one.error());
    }
  }
  std::erase_if(seen_, [&](const auto& one) { return !met.contains(one.first); });
  TRY(bury_unreadable());
  root_.clean();
  if (!met.empty() || !begun_.empty() || !troubles_.empty()) return gone;
  rest_ = std::move(before);
  rests_since_ = root_.clock().steady();
  return gone;
}

Result<std::vector<std::string>> TaskQueue::holders() const {
  auto found = claimed_folders();
  if (found) std::erase_if(*found, [](const std::string& name) { return !is_actor_name(name); });
  return found;
}

Result<std::vector<std::string>> TaskQueue::swept_holders() const {
  TRY(const auto found, claimed_folders());
  std::vector<std::string> holders;
  for (const std::string& name : found)
    if (std::string holder = holder_of_swept(name); !holder.empty()) holders.push_back(std::move(holder));
  return holders;
}

Result<std::vector<std::string>> TaskQueue::claimed_folders() const {
  const Result<Directory> claimed = root_.folder(task_folder(TaskPlace::claimed));
  if (!claimed && was_taken(claimed.error())) return std::vector<std::string>{};
  if (!claimed) return claimed.error();
  TRY(auto found, root_.files().list(*claimed));
  std::erase_if(found, [&](const std::string& name) {
    const Result<FileStat> stat = root_.files().stat_at(*claimed, name);
    return !stat || stat->kind != FileKind::directory;
  });
  std::sort(found.begin(), found.end());
  return found;
}

/// Does the first step for one claim.
Status TaskQueue::begin(const std::string& holder, const std::string& name) {
  TRY(const auto folder, root_.folder(claimed_folder(holder)));
  const std::string where = holder + '/' + name;
  const Result<Letterfile> file = root_.read(folder, name);
  if (!file) return is_errno(file.error(), EIO) ? Status(file.error()) : Status(Done{});  // unreadable: left as it is
  if (!is_over(where, *file)) return Done{};
  TRY(const auto swept, root_.made_folder(swept_folder(holder)));
  const Status moved = root_.files().move(folder, name, swept, name, Onto::nothing);
  // The claim was moved before and is back, so its holder lives. The second step finds this.
  if (!moved.ok() && is_errno(moved.error(), EEXIST)) return Done{};
  if (!moved.ok()) return moved;
  begun_[{holder, name}] = root_.clock().steady();
  const Result<Letterfile> again = root_.read(swept, name);
  if (!again) return Done{};  // the second step reads it again
  if (again->stat.ino == file->stat.ino && again->stat.mtime_ns == file->stat.mtime_ns) return Done{};
  if (again->envelope.text("status") == "done" || is_over(where, *again)) return Done{};
  Status back = root_.files().move(swept, name, folder, name, Onto::nothing);
  if (!back.ok() && is_errno(back.error(), EEXIST)) back = root_.files().unlink_at(swept, name);
  begun_.erase({holder, name});
  return back;
}

/// Does the second step for all claims that were moved 2 s ago. If an earlier process moved a claim, the time counts
/// from the first scan of this process.
Status TaskQueue::end_begun(std::vector<TaskFile>& gone) {
  troubles_.clear();
  TRY(const auto holders, swept_holders());
  const SteadyTime now = root_.clock().steady();
  decltype(begun_) begun;
  for (const std::string& holder : holders) {
    TRY(const auto names, root_.names(swept_folder(holder)));
    for (const std::string& name : names) {
      const auto known = begun_.find({holder, name});
      begun[{holder, name}] = known == begun_.end() ? now : known->second;
    }
  }
  begun_ = begun;
  for (const auto& [what, since] : begun) {
    if (now - since < settles) continue;
    if (Status ended = end_one(what.first, what.second, gone); !ended.ok() && !was_taken(ended.error()))
      troubles_.push_back(ended.error());  // the others go on; the next scan begins this one again
    begun_.erase(what);
  }
  const Result<Directory> claimed = root_.folder(task_folder(TaskPlace::claimed));
  for (const std::string& holder : holders)
    if (claimed) (void)root_.files().rmdir_at(*claimed, swept_name(holder));  // fails unless it is empty
  return Done{};
}

Status TaskQueue::end_one(const std::string& holder, const std::string& name, std::vector<TaskFile>& gone) {
  TRY(const auto swept, root_.folder(swept_folder(holder)));
  const Result<Letterfile> file = root_.read(swept, name);
  if (!file) {
    if (was_taken(file.error()) || file.error().code.starts_with("io.")) return file.error();
    TRY(const auto dead, root_.made_folder(task_folder(TaskPlace::dead)));
    const auto moved = root_.set_aside(swept, name, dead, "dead-" + name);
    return moved ? Status(Done{}) : Status(moved.error());
  }
  // A claim that is back in its place after a heartbeat, or in another actor's folder after a peer's sweep, has a
  // holder.
  TRY(const auto whose, holders());
  for (const std::string& one : whose) {
    const Result<Directory> folder = root_.folder(claimed_folder(one));
    const auto again = folder ? root_.read(*folder, name) : Result<Letterfile>(folder.error());
    if (!again && !was_taken(again.error()) && again.error().code.starts_with("io.")) return again.error();
    if (again && schema::identity_of(again->envelope) == schema::identity_of(file->envelope))
      return root_.files().unlink_at(swept, name);
  }
  TRY(const auto done, is_done(file->envelope, name));
  if (done) return root_.files().unlink_at(swept, name);
  Envelope task = file->envelope;
  if (task.text("status") == "done") {  // its holder was about to move it
    TRY(const auto to, root_.made_folder(task_folder(TaskPlace::done)));
    const auto moved = move_task(swept, name, to, name, task);
    return moved ? Status(Done{}) : Status(moved.error());
  }
  write_swept(task, holder, settings_.max_attempts, root_.seconds_now());
  TRY(root_.change(swept, name, *file, task));
  TRY(auto left, release_claim(swept, name, std::move(task)));
  gone.push_back(std::move(left));
  return Done{};
}

/// Moves files of open/ that are no tasks, and are unchanged for a day, to dead/.
Status TaskQueue::bury_unreadable() {
  TRY(const auto names, root_.names(task_folder(TaskPlace::open)));
  for (const std::string& name : names) {
    if (waiting_.contains(name)) continue;
    TRY(const auto open, root_.folder(task_folder(TaskPlace::open)));
    const Result<FileStat> stat = root_.files().stat_at(open, name);
    if (!stat || stat->kind != FileKind::regular || root_.clock().system_ns() - stat->ctime_ns < unreadable_for_ns)
      continue;
    const Result<Letterfile> file = root_.read(open, name);
    if (file || file.error().code.starts_with("io.")) continue;
    TRY(const auto dead, root_.made_folder(task_folder(TaskPlace::dead)));
    Envelope reason;
    reason.set("status", "dead").set("file", "dead-" + name).set("dead_reason", file.error().message);
    reason.set_raw("dead_at", root_.seconds_now());
    TRY(root_.put(dead, "reason-" + root_.fresh().name(), reason));
    TRY(root_.set_aside(open, name, dead, "dead-" + name));
  }
  return Done{};
}

// --- queries of people

Result<TaskCounts> TaskQueue::counts() const {
  TaskCounts counts;
  const auto add = [&](const std::string& below, std::size_t& to) -> Status {
    TRY(const auto names, root_.names(below));
    to += names.size();
    return Done{};
  };
  TRY(const auto whose, holders());
  for (const std::string& holder : whose)
    TRY(add(claimed_folder(holder), counts.claimed));
  TRY(const auto swept, swept_holders());
  for (const std::string& holder : swept)
    TRY(add(swept_folder(holder), counts.claimed));
  for (const auto& [place, to] : {std::pair(TaskPlace::open, &counts.open), std::pair(TaskPlace::done, &counts.done),
                                  std::pair(TaskPlace::dead, &counts.dead)})
    TRY(add(task_folder(place), *to));
  return counts;
}

Result<std::vector<std::string>> TaskQueue::held_by(const std::string& actor, std::size_t most) const {
  TRY(const auto names, root_.names(claimed_folder(actor)));
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    const Result<Directory> folder = root_.folder(claimed_folder(actor));
    const Result<Letterfile> file = folder ? root_.read(*folder, name) : Result<Letterfile>(folder.error());
    if (file && ids.size() < most) ids.push_back(schema::identity_of(file->envelope));
  }
  return ids;
}

Result<std::vector<TaskFile>> TaskQueue::all() const {
  std::vector<TaskFile> tasks;
  const auto add = [&](TaskPlace place, const std::string& below, const std::string& holder) -> Status {
    const Result<Directory> folder = root_.folder(below);
    if (!folder && was_taken(folder.error())) return Done{};
    if (!folder) return folder.error();
    TRY(auto names, root_.files().list(*folder));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (!name.ends_with(".json") || name.starts_with('.')) continue;
      const Result<Letterfile> file = root_.read(*folder, name);
      if (file) tasks.push_back({place, holder, name, file->envelope});
    }
    return Done{};
  };
  if (const Result<Directory> root = root_.open(); !root) return root.error();
  TRY(const auto whose, holders());
  TRY(add(TaskPlace::open, task_folder(TaskPlace::open), {}));
  for (const std::string& holder : whose)
    TRY(add(TaskPlace::claimed, claimed_folder(holder), holder));
  TRY(const auto swept, swept_holders());
  for (const std::string& holder : swept)
    TRY(add(TaskPlace::given_back, swept_folder(holder), holder));
  for (const TaskPlace place : {TaskPlace::done, TaskPlace::dead})
    TRY(add(place, task_folder(place), {}));
  return tasks;
}

Result<TaskFile> TaskQueue::find(const std::string& id) const {
  TRY(const auto tasks, all());
  const TaskFile* const best = best_of(tasks, id);
  if (best == nullptr) return no_task(id, root_.path() + "/tasks");
  return *best;
}

Result<std::string> TaskQueue::whole_id(const std::string& beginning, const std::string& actor) const {
  if (beginning.empty()) return Error{"mailbox.usage", "which task? Name its id, or how that begins"};
  if (!actor.empty())
    if (const auto mine = held(actor, beginning); mine && mine->has_value()) return beginning;
  const auto among_all = [&]() -> Result<std::string> {
    TRY(const auto tasks, all());
    return whole_id_among(tasks, beginning, root_.path() + "/tasks");
  };
  Result<std::string> id = among_all();
  // A task on its way between two folders is in neither, so look again.
  return id || id.error().code != "task.unknown" ? id : among_all();
}

Result<Envelope> TaskQueue::requeue(const std::string& id) {
  TRY(const auto found, find(id));
  TRY(require_dead(found, id));
  if (found.task.text("id").empty() && !found.task.raw("file").empty())
    return Error{"task.not_dead", "that file is not a task but the reason why tasks/dead/" + found.task.text("file") +
                                      " stands there; repair that file and move it to tasks/open"};
  TRY(const auto dead, root_.folder(task_folder(TaskPlace::dead)));
  TRY(const auto file, root_.read(dead, found.name));
  Envelope task = file.envelope;
  write_requeued(task, root_.seconds_now());
  TRY(root_.change(dead, found.name, file, task));
  TRY(const auto open, root_.made_folder(task_folder(TaskPlace::open)));
  const std::string name = found.name.starts_with("dead-") ? found.name.substr(5) : found.name;
  TRY(root_.move(dead, found.name, open, name));
  return task;
}

}  // namespace inbox_poller::poller

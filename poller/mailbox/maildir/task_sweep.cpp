// The sweep of the task queue, in two steps, and what people ask of it.
//
// A peer that beats or completes reads the file, writes a new one and renames that onto the name: whoever takes a claim
// away between its two steps gets it back a moment later. So what is over is first moved aside, which decides against
// everybody who looks first; two seconds later, when whoever was in the middle has ended, it is given back unless it
// stands in its place again or is done.
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
  return handlers::lease_is_over(claim, std::chrono::duration<double>(settings_.default_lease).count());
}

/// Whoever claims takes a task out of open/; a claim that came another way is met by the next sweep that looks.
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

Result<std::vector<TaskFile>> TaskQueue::sweep() {
  std::vector<TaskFile> gone;
  if (rests()) return gone;
  rest_.clear();
  std::vector<FileVersion> before = seen_folders();
  const Result<Directory> lock = locked_tasks(root_);
  if (!lock && (was_taken(lock.error()) || is_errno(lock.error(), EAGAIN))) return gone;
  if (!lock) return lock.error();
  const Result<Directory> tmp = root_.made_folder("tmp");
  if (!tmp) return tmp.error();
  if (Status ended = end_begun(*tmp, gone); !ended.ok()) return ended.error();

  const auto whose = holders();
  if (!whose) return whose.error();
  std::set<std::string> met;
  for (const std::string& holder : *whose) {
    const auto names = root_.names(claimed_folder(holder));
    if (!names) return names.error();
    for (const std::string& name : *names) {
      met.insert(holder + '/' + name);
      if (Status one = begin(*tmp, holder, name); !one.ok() && !was_taken(one.error()))
        troubles_.push_back(one.error());
    }
  }
  std::erase_if(seen_, [&](const auto& one) { return !met.contains(one.first); });
  if (Status buried = bury_unreadable(); !buried.ok()) return buried.error();
  root_.clean();
  if (!met.empty() || !begun_.empty() || !troubles_.empty()) return gone;
  rest_ = std::move(before);
  rests_since_ = root_.clock().steady();
  return gone;
}

Result<std::vector<std::string>> TaskQueue::holders() const {
  const Result<Directory> claimed = root_.folder(task_folder(TaskPlace::claimed));
  if (!claimed && was_taken(claimed.error())) return std::vector<std::string>{};
  if (!claimed) return claimed.error();
  auto found = root_.files().list(*claimed);
  if (!found) return found;
  std::erase_if(*found, [&](const std::string& name) {
    const Result<FileStat> stat = root_.files().stat_at(*claimed, name);
    return !is_actor_name(name) || !stat || stat->kind != FileKind::directory;
  });
  std::sort(found->begin(), found->end());
  return found;
}

/// The first step, for one claim.
Status TaskQueue::begin(const Directory& tmp, const std::string& holder, const std::string& name) {
  const Result<Directory> folder = root_.folder(claimed_folder(holder));
  if (!folder) return folder.error();
  const std::string where = holder + '/' + name;
  const Result<Letterfile> file = root_.read(*folder, name);
  if (!file) return is_errno(file.error(), EIO) ? Status(file.error()) : Status(Done{});  // unreadable: left to people
  if (!is_over(where, *file)) return Done{};
  const std::string begun = begun_name(holder, name);
  const Status moved = root_.files().move(*folder, name, tmp, begun, Onto::nothing);
  // The same claim was begun before and stands there again: its holder lives, which the second step finds.
  if (!moved.ok() && (is_errno(moved.error(), EEXIST) || is_errno(moved.error(), ENAMETOOLONG))) return Done{};
  if (!moved.ok()) return moved;
  begun_[begun] = root_.clock().steady();
  const Result<Letterfile> again = root_.read(tmp, begun);
  if (!again) return Done{};  // the second step looks again
  if (again->stat.ino == file->stat.ino && again->stat.mtime_ns == file->stat.mtime_ns) return Done{};
  if (again->envelope.text("status") == "done" || is_over(where, *again)) return Done{};
  Status back = root_.files().move(tmp, begun, *folder, name, Onto::nothing);
  if (!back.ok() && is_errno(back.error(), EEXIST)) back = root_.files().unlink_at(tmp, begun);
  begun_.erase(begun);
  return back;
}

/// The second step, for all that lies there long enough; what an earlier process has begun lies there since we saw it.
Status TaskQueue::end_begun(const Directory& tmp, std::vector<TaskFile>& gone) {
  troubles_.clear();
  const auto names = root_.files().list(tmp);
  if (!names) return names.error();
  const SteadyTime now = root_.clock().steady();
  std::map<std::string, SteadyTime> begun;
  for (const std::string& name : *names) {
    if (parts_of_begun(name).first.empty()) continue;
    const auto known = begun_.find(name);
    begun[name] = known == begun_.end() ? now : known->second;
  }
  begun_ = begun;
  for (const auto& [name, since] : begun) {
    if (now - since < settles) continue;
    if (Status ended = end_one(tmp, name, gone); !ended.ok() && !was_taken(ended.error()))
      troubles_.push_back(ended.error());  // its neighbours go on; it is begun anew at the next look
    begun_.erase(name);
  }
  return Done{};
}

Status TaskQueue::end_one(const Directory& tmp, const std::string& name, std::vector<TaskFile>& gone) {
  const auto [holder, original] = parts_of_begun(name);
  const Result<Letterfile> file = root_.read(tmp, name);
  if (!file) {
    if (was_taken(file.error()) || file.error().code.starts_with("io.")) return file.error();
    const Result<Directory> dead = root_.made_folder(task_folder(TaskPlace::dead));
    if (!dead) return dead.error();
    const auto moved = root_.set_aside(tmp, name, *dead, "dead-" + original);
    return moved ? Status(Done{}) : Status(moved.error());
  }
  // It stands in its place again (a beat was under way), or a peer's sweep has given it away: it has a holder.
  const auto whose = holders();
  if (!whose) return whose.error();
  for (const std::string& one : *whose) {
    const Result<Directory> folder = root_.folder(claimed_folder(one));
    const auto again = folder ? root_.read(*folder, original) : Result<Letterfile>(folder.error());
    if (!again && !was_taken(again.error()) && again.error().code.starts_with("io.")) return again.error();
    if (again && schema::identity_of(again->envelope) == schema::identity_of(file->envelope))
      return root_.files().unlink_at(tmp, name);
  }
  const Result<bool> done = is_done(file->envelope, original);
  if (!done) return done.error();
  if (*done) return root_.files().unlink_at(tmp, name);
  Envelope task = file->envelope;
  if (task.text("status") == "done") {  // its holder was about to put it there
    const Result<Directory> to = root_.made_folder(task_folder(TaskPlace::done));
    if (!to) return to.error();
    const auto moved = move_task(tmp, name, *to, original, task);
    return moved ? Status(Done{}) : Status(moved.error());
  }
  write_swept(task, holder, settings_.max_attempts, root_.seconds_now());
  const auto changed = root_.change(tmp, name, *file, task);
  if (!changed) return changed.error();
  Result<TaskFile> left = let_go(tmp, name, std::move(task));
  if (!left) return left.error();
  gone.push_back(*std::move(left));
  return Done{};
}

/// What stands among the open tasks, is none and has not been touched for a day.
Status TaskQueue::bury_unreadable() {
  const auto names = root_.names(task_folder(TaskPlace::open));
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (waiting_.contains(name)) continue;
    const Result<Directory> open = root_.folder(task_folder(TaskPlace::open));
    if (!open) return open.error();
    const Result<FileStat> stat = root_.files().stat_at(*open, name);
    if (!stat || stat->kind != FileKind::regular || root_.clock().system_ns() - stat->ctime_ns < unreadable_for_ns)
      continue;
    const Result<Letterfile> file = root_.read(*open, name);
    if (file || file.error().code.starts_with("io.")) continue;
    const Result<Directory> dead = root_.made_folder(task_folder(TaskPlace::dead));
    if (!dead) return dead.error();
    Envelope reason;
    reason.set("status", "dead").set("file", "dead-" + name).set("dead_reason", file.error().message);
    reason.set_raw("dead_at", root_.seconds_now());
    const Status told = root_.put(*dead, "reason-" + root_.fresh().name(), reason);
    if (!told.ok()) return told;
    if (const auto moved = root_.set_aside(*open, name, *dead, "dead-" + name); !moved) return moved.error();
  }
  return Done{};
}

// --- what people ask

Result<TaskCounts> TaskQueue::counts() const {
  TaskCounts counts;
  const auto add = [&](const std::string& below, std::size_t& to) -> Status {
    const auto names = root_.names(below);
    if (!names) return names.error();
    to += names->size();
    return Done{};
  };
  const auto whose = holders();
  if (!whose) return whose.error();
  for (const std::string& holder : *whose)
    if (Status added = add(claimed_folder(holder), counts.claimed); !added.ok()) return added.error();
  for (const auto& [place, to] : {std::pair(TaskPlace::open, &counts.open), std::pair(TaskPlace::done, &counts.done),
                                  std::pair(TaskPlace::dead, &counts.dead)})
    if (Status added = add(task_folder(place), *to); !added.ok()) return added.error();
  return counts;
}

Result<std::vector<std::string>> TaskQueue::held_by(const std::string& actor, std::size_t most) const {
  const auto names = root_.names(claimed_folder(actor));
  if (!names) return names.error();
  std::vector<std::string> ids;
  for (const std::string& name : *names) {
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
    auto names = root_.files().list(*folder);
    if (!names) return names.error();
    std::sort(names->begin(), names->end());
    for (const std::string& name : *names) {
      if (!name.ends_with(".json") || (place != TaskPlace::given_back && name.starts_with('.'))) continue;
      const std::string whose = place == TaskPlace::given_back ? parts_of_begun(name).first : holder;
      if (place == TaskPlace::given_back && whose.empty()) continue;
      const Result<Letterfile> file = root_.read(*folder, name);
      if (file) tasks.push_back({place, whose, name, file->envelope});
    }
    return Done{};
  };
  if (const Result<Directory> root = root_.open(); !root) return root.error();
  const auto whose = holders();
  if (!whose) return whose.error();
  if (Status one = add(TaskPlace::open, task_folder(TaskPlace::open), {}); !one.ok()) return one.error();
  for (const std::string& holder : *whose)
    if (Status one = add(TaskPlace::claimed, claimed_folder(holder), holder); !one.ok()) return one.error();
  for (const TaskPlace place : {TaskPlace::given_back, TaskPlace::done, TaskPlace::dead})
    if (Status one = add(place, task_folder(place), {}); !one.ok()) return one.error();
  return tasks;
}

Result<TaskFile> TaskQueue::find(const std::string& id) const {
  const auto tasks = all();
  if (!tasks) return tasks.error();
  const TaskFile* const best = best_of(*tasks, id);
  if (best == nullptr) return no_task(id, root_.path() + "/tasks");
  return *best;
}

Result<std::string> TaskQueue::whole_id(const std::string& beginning) const {
  if (beginning.empty()) return Error{"box.usage", "which task? Name its id, or how that begins"};
  const auto tasks = all();
  if (!tasks) return tasks.error();
  return whole_id_among(*tasks, beginning, root_.path() + "/tasks");
}

Result<std::string> TaskQueue::whole_id(const std::string& beginning, const std::string& actor) const {
  if (!beginning.empty())
    if (const auto mine = held(actor, beginning); mine && mine->has_value()) return beginning;
  Result<std::string> id = whole_id(beginning);
  // On its way between two folders it is met in neither: looked for twice.
  return id || id.error().code != "task.unknown" ? id : whole_id(beginning);
}

Result<Envelope> TaskQueue::requeue(const std::string& id) {
  const Result<TaskFile> found = find(id);
  if (!found) return found.error();
  if (Status dead = require_dead(*found, id); !dead.ok()) return dead.error();
  if (found->task.text("id").empty() && !found->task.raw("file").empty())
    return Error{"task.not_dead", "that is no task but the reason why tasks/dead/" + found->task.text("file") +
                                      " stands there; mend that file and move it to tasks/open"};
  const Result<Directory> dead = root_.folder(task_folder(TaskPlace::dead));
  if (!dead) return dead.error();
  const Result<Letterfile> file = root_.read(*dead, found->name);
  if (!file) return file.error();
  Envelope task = file->envelope;
  write_requeued(task, root_.seconds_now());
  const auto changed = root_.change(*dead, found->name, *file, task);
  if (!changed) return changed.error();
  const Result<Directory> open = root_.made_folder(task_folder(TaskPlace::open));
  if (!open) return open.error();
  const std::string name = found->name.starts_with("dead-") ? found->name.substr(5) : found->name;
  if (Status moved = root_.move(*dead, found->name, *open, name); !moved.ok()) return moved.error();
  return task;
}

}  // namespace inbox_poller::poller

#include "poller/mailbox/arrays/lock_directory.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace inbox_poller::poller {

namespace {

constexpr std::size_t remembered_holds = 4096;
constexpr unsigned lock_mode = 0777;  // as in proper-lockfile; the umask narrows it

std::string lock_path(const Directory& at, const std::string& name) { return at.path + "/" + name; }

LockAttempt failed(LockOutcome outcome, std::string detail) { return {outcome, std::nullopt, std::move(detail)}; }

/// Reads a small lock file; empty when it cannot be read.
std::string content_of(FileSystem& files, const Directory& at, const std::string& name) {
  const Result<File> file = files.open_read(at, name);
  if (!file || file->stat.size > foreign_file_limit) return {};
  Result<std::string> bytes = read_all(files, *file);
  return bytes ? *std::move(bytes) : std::string();
}

}  // namespace

bool may_be_alive(int pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

HeldLock::HeldLock(HeldLock&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      at_(other.at_),
      name_(std::move(other.name_)),
      self_(std::move(other.self_)),
      since_(other.since_) {}

HeldLock::~HeldLock() {
  if (owner_ != nullptr) owner_->release(*this);
}

bool HeldLock::still_ours() const { return owner_ != nullptr && owner_->has(*this); }

LockRelease HeldLock::release() {
  if (owner_ == nullptr) return {};
  return owner_->release(*this);
}

LockAttempt LockDirectory::try_acquire(const Directory& at, const std::string& name) {
  std::string note;
  for (const bool last : {false, true}) {
    HeldLock lock(*this, at, name);
    lock.since_ = clock_.steady();
    const Status made = files_.mkdir_at(at, name, lock_mode);
    if (made.ok()) return own(std::move(lock), std::move(note));
    lock.owner_ = nullptr;
    if (!is_errno(made.error(), EEXIST)) return failed(LockOutcome::fault, made.error().message);
    if (last) break;

    if (std::optional<LockAttempt> blocked = clear(at, name, note)) {
      if (blocked->outcome != LockOutcome::fault) ++refused_;
      return std::move(*blocked);
    }
  }
  ++refused_;
  return failed(LockOutcome::held, lock_path(at, name) + " is held by a peer");
}

LockAttempt LockDirectory::own(HeldLock lock, std::string note) {
  Result<Directory> self = files_.open_dir(*lock.at_, lock.name_);
  // Peers remove a lock that is old. What was opened so long after ours was made may be the lock of the next owner.
  if (clock_.steady() - lock.since_ > stale_after / 2) {
    lock.owner_ = nullptr;
    return failed(LockOutcome::held, lock_path(*lock.at_, lock.name_) + " was ours, and may have been taken over while this process stood still");
  }
  if (!self.ok()) {
    lock.owner_ = nullptr;
    if (is_errno(self.error(), ENOENT) || self.error().code == code::untrusted)
      return failed(LockOutcome::held, lock_path(*lock.at_, lock.name_) + " was removed as soon as we had made it");
    (void)files_.rmdir_at(*lock.at_, lock.name_);
    return failed(LockOutcome::fault, self.error().message);
  }
  lock.self_ = *std::move(self);
  return {LockOutcome::acquired, std::move(lock), std::move(note)};
}

std::optional<LockAttempt> LockDirectory::clear(const Directory& at, const std::string& name, std::string& note) {
  const Result<FileStat> seen = files_.stat_at(at, name);
  if (!seen && is_errno(seen.error(), ENOENT)) return std::nullopt;  // released between mkdir and this stat
  if (!seen) return failed(LockOutcome::fault, seen.error().message);

  const SteadyTime now = clock_.steady();
  const auto known = observations_.find(name);
  const LockObservation observation =
      observe(known == observations_.end() ? std::nullopt : std::optional(known->second), *seen, now);
  observations_.insert_or_assign(name, observation);
  const std::string path = lock_path(at, name);
  const std::string age =
      std::to_string(std::chrono::floor<std::chrono::seconds>(now - observation.since).count()) + " s";

  switch (decide(observation, now)) {
    case LockStep::wait:
      return failed(LockOutcome::held, path + " is held by a peer");  // no age: callers report each text once
    case LockStep::refuse:
      return failed(LockOutcome::foreign,
                    path + " is " + std::string(describe(seen->kind)) + " of " + std::to_string(seen->size) +
                        " bytes, not a lock; no client can write to this inbox until a person "
                        "has looked at it and removed it");
    case LockStep::take_over: note = path + " was abandoned (unchanged for " + age + ") and was taken over"; break;
    case LockStep::examine_file: {
      const std::optional<int> pid = pid_in_lock_file(content_of(files_, at, name));
      if (!pid || may_be_alive(*pid)) {
        return failed(LockOutcome::foreign, path + " is a lock file of another tool (" +
                                                (pid ? "process " + std::to_string(*pid) : "no process named") +
                                                "); real clients cannot write past it. It is "
                                                "removed when that process is gone or after 30 s");
      }
      note = path + " was a lock file of process " + std::to_string(*pid) + ", which is dead; it was removed";
      break;
    }
    case LockStep::remove_file:
      note = path + " was a lock file of another tool, unchanged for " + age + "; it was removed";
      break;
  }
  return remove(at, name, *seen);
}

std::optional<LockAttempt> LockDirectory::remove(const Directory& at, const std::string& name, const FileStat& seen) {
  const std::string path = lock_path(at, name);
  // Check once more: a waiter that judged as we did may have made its own lock here since.
  const Result<FileStat> now = files_.stat_at(at, name);
  if (now.ok() && !same_lock(*now, seen))
    return failed(LockOutcome::held, path + " was taken over by a peer just before us");
  const bool directory = seen.kind == FileKind::directory;
  const Status removed = directory ? files_.rmdir_at(at, name) : files_.unlink_at(at, name);
  if (removed.ok()) ++stale_taken_;
  if (removed.ok() || is_errno(removed.error(), ENOENT)) return std::nullopt;
  if (is_errno(removed.error(), ENOTEMPTY) || is_errno(removed.error(), EEXIST)) {
    return failed(LockOutcome::foreign,
                  path +
                      " is abandoned and not empty, so no client can ever take it over; look at what "
                      "is inside, then remove the folder");
  }
  if (is_errno(removed.error(), EACCES) || is_errno(removed.error(), EPERM)) {
    return failed(LockOutcome::foreign, removed.error().message + " (abandoned, and not ours to remove; user " +
                                            std::to_string(seen.uid) + " or root has to)");
  }
  return failed(LockOutcome::fault, removed.error().message);
}

bool LockDirectory::has(const HeldLock& lock) const {
  const Result<FileStat> now = files_.stat_at(*lock.at_, lock.name_);
  return now.ok() && same_lock(*now, lock.self_.stat);
}

LockRelease LockDirectory::release(HeldLock& lock) {
  lock.owner_ = nullptr;
  const Directory& at = *lock.at_;
  LockRelease out;
  // A failed stat counts as ours: a lock left in place would block every peer for 10 s.
  const Result<FileStat> now = files_.stat_at(at, lock.name_);
  out.intact = now.ok() ? same_lock(*now, lock.self_.stat) : !is_errno(now.error(), ENOENT);
  if (out.intact) {
    Status removed = files_.rmdir_at(at, lock.name_);
    if (!removed.ok() && !is_errno(removed.error(), ENOENT)) removed = files_.rmdir_at(at, lock.name_);
    out.intact = removed.ok() || !is_errno(removed.error(), ENOENT);
    if (!removed.ok() && out.intact) out.detail = "our lock stays behind: " + removed.error().message;
  }
  const auto held = std::chrono::duration_cast<std::chrono::microseconds>(clock_.steady() - lock.since_);
  if (held_us_.size() < remembered_holds) held_us_.emplace_back();
  held_us_[holds_++ % remembered_holds] = static_cast<std::uint32_t>(held.count());

  if (!out.intact) out.detail = lock_path(at, lock.name_) + " was broken by another program while InboxPoller held it";
  if (out.intact && !out.detail.empty()) {
    const SteadyTime seen = clock_.steady();
    observations_.insert_or_assign(
        lock.name_, LockObservation{lock.self_.stat, seen - stale_after, seen});  // the next attempt removes it
  } else {
    observations_.erase(lock.name_);
  }
  return out;
}

Contention LockDirectory::statistics() const {
  told_.refused = refused_;
  told_.stale_taken = stale_taken_;
  if (std::exchange(told_.acquired, holds_) == holds_) return told_;
  auto held = held_us_;
  std::sort(held.begin(), held.end());
  told_.median_us = held[held.size() / 2];
  told_.p99_us = held[held.size() * 99 / 100];
  return told_;
}

}  // namespace inbox_poller::poller

#include "poller/mailbox/arrays/replacement.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace inbox_poller::poller {

WriteResult stopped(WriteOutcome outcome, std::string detail) { return {outcome, std::move(detail), 0}; }

WriteResult no_inbox_name(const std::string& inbox) {
  return stopped(WriteOutcome::refused, "'" + inbox + "' cannot be an inbox's name: use A-Z a-z 0-9 _ -, at most 200 characters");
}

WriteResult stopped_by(const Error& error) {
  if (is_errno(error, ENOENT)) return stopped(WriteOutcome::missing, error.message);
  const bool refused = error.code == code::untrusted || error.code == code::not_regular;
  return stopped(refused ? WriteOutcome::refused : WriteOutcome::fault, error.message);
}

WriteResult stopped_by(const Snapshot& snapshot) {
  switch (snapshot.outcome) {
    case ReadOutcome::missing: return stopped(WriteOutcome::missing, snapshot.detail);
    case ReadOutcome::not_regular:
    case ReadOutcome::too_large: return stopped(WriteOutcome::refused, snapshot.detail);
    case ReadOutcome::document:
    case ReadOutcome::empty:
    case ReadOutcome::torn:
    case ReadOutcome::lock_held: return stopped(WriteOutcome::changed, snapshot.detail);
    case ReadOutcome::fault: break;
  }
  return stopped(WriteOutcome::fault, snapshot.detail);
}

WriteResult not_locked(const LockAttempt& attempt) {
  switch (attempt.outcome) {
    case LockOutcome::held: return stopped(WriteOutcome::lock_held, attempt.detail);
    case LockOutcome::foreign: return stopped(WriteOutcome::lock_foreign, attempt.detail);
    case LockOutcome::acquired:
    case LockOutcome::fault: break;
  }
  return stopped(WriteOutcome::fault, attempt.detail);
}

void add_detail(std::string& detail, std::string_view more) {
  if (more.empty()) return;
  if (!detail.empty()) detail += "; ";
  detail += more;
}

WriteResult swap_in(FileSystem& files, const Directory& folder, const std::string& file, const Snapshot& snapshot,
                    const HeldLock& lock, TemporaryFile& temporary) {
  const Result<FileStat> now = files.stat_at(folder, file);
  const bool was_there = snapshot.outcome != ReadOutcome::missing;
  if (!now && (was_there || !is_errno(now.error(), ENOENT))) return stopped_by(now.error());
  if (now.ok() && version_of(*now) != snapshot.version) return stopped(WriteOutcome::changed, {});
  if (was_there && !snapshot.settled) {
    const Result<bool> same = has_bytes(files, *snapshot.file, snapshot.bytes);
    if (!same) return stopped_by(same.error());
    if (!*same) return stopped(WriteOutcome::changed, {});
  }
  if (!lock.still_ours()) return stopped(WriteOutcome::changed, "the lock was broken by another program");
  if (!was_there) {
    const Status renamed = temporary.replace_target();
    return renamed.ok() ? WriteResult{} : stopped_by(renamed.error());
  }
  // A peer without a lock may have replaced the file since the check; the file that comes out shows it.
  const Result<bool> exchanged = temporary.exchange_target(snapshot.version);
  if (!exchanged) return stopped_by(exchanged.error());
  return *exchanged ? WriteResult{} : stopped(WriteOutcome::changed, {});
}

WriteResult replace(FileSystem& files, LockDirectory& locks, const Directory& folder, const std::string& file,
                    const Snapshot& snapshot, std::string_view wanted, std::optional<HeldLock> lock) {
  TemporaryFile temporary(files, folder, file);
  if (const Status written = temporary.write(wanted, snapshot.mode); !written.ok()) return stopped_by(written.error());
  std::string note;
  if (!lock) {
    LockAttempt attempt = locks.try_acquire(folder, lock_name(file));
    if (attempt.outcome != LockOutcome::acquired) return not_locked(attempt);
    note = std::move(attempt.detail);
    lock.emplace(std::move(*attempt.lock));
  }
  WriteResult result = swap_in(files, folder, file, snapshot, *lock, temporary);
  const LockRelease release = lock->release();
  add_detail(result.detail, note);
  add_detail(result.detail, release.detail);
  return result;
}

void remove_litter(FileSystem& files, const Directory& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::optional<int> pid = TemporaryFile::owner(name);
    // Calls come one at a time, so none of these files is in use by us. Our own process id means a predecessor, as in
    // a container.
    if (pid && (*pid == ::getpid() || !may_be_alive(*pid))) (void)files.unlink_at(folder, name);
  }
}

}  // namespace inbox_poller::poller

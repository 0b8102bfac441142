// The lock of one inbox: the directory `<inbox>.json.lock`, made by mkdir and removed by rmdir, as in proper-lockfile
// 4.1.2. The class does not queue for the lock: one call is one attempt, and the caller decides when to retry.
// Invariants: nothing is written inside a lock directory. No entry that could be data is removed (a directory with
// contents, a link, a large file). A lock that is no longer ours is never removed.
// The known weakness of the protocol remains, and is not made worse. Two waiters that judge a lock abandoned at the
// same moment may both believe to own it. The lock is checked again right before its removal, and holders check
// `still_ours()` before they commit.
// Source: docs/reference/wire.md W9, W10.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/lock_decision.hpp"
#include "poller/mailbox/arrays/outcomes.hpp"

namespace inbox_poller::poller {

class LockDirectory;

/// Returns false only if the system reports that there is no such process. A process in another container looks dead
/// as well. Another tool's lock file is therefore left alone for `foreign_patience` first.
bool may_be_alive(int pid);

/// State of the lock at its release.
struct LockRelease {
  bool intact = true;  // false: another process broke the lock while we held it
  std::string detail;  // for people; empty without a problem
};

/// A lock that we hold; the destructor releases it. The Directory and the LockDirectory must outlive this object.
class HeldLock {
 public:
  HeldLock(HeldLock&& other) noexcept;
  HeldLock& operator=(HeldLock&&) = delete;
  ~HeldLock();

  /// True if the directory at the path is still the one that we made.
  [[nodiscard]] bool still_ours() const;
  LockRelease release();

 private:
  friend class LockDirectory;
  HeldLock(LockDirectory& owner, const Directory& at, const std::string& name)
      : owner_(&owner), at_(&at), name_(name) {}

  LockDirectory* owner_;  // null: released
  const Directory* at_;
  std::string name_;
  // Kept open, so that no other directory can get its inode number. The file system frees it outside of the lock.
  Directory self_;
  SteadyTime since_{};
};

enum class LockOutcome {
  acquired,
  held,     // by a peer; try again later
  foreign,  // blocked by an entry that is not a lock of our protocol
  fault,
};

struct LockAttempt {
  LockOutcome outcome = LockOutcome::fault;
  std::optional<HeldLock> lock;  // with `acquired`
  std::string detail;            // for people; with `acquired`: the entry that had to be removed first
};

/// All inbox locks of one team, with the observation of each. Keeps references to `files` and `clock`, which must
/// outlive this object.
class LockDirectory {
 public:
  LockDirectory(FileSystem& files, const Clock& clock) : files_(files), clock_(clock) {}

  /// Makes one attempt at `name` (such as "team-lead.json.lock") in the open folder.
  LockAttempt try_acquire(const Directory& at, const std::string& name);

  /// True if the directory at the path is still the one that the lock made.
  [[nodiscard]] bool has(const HeldLock& lock) const;
  /// Implements HeldLock::release() for a lock that is held.
  LockRelease release(HeldLock& lock);

  [[nodiscard]] Contention statistics() const;

 private:
  LockAttempt own(HeldLock lock, std::string note);
  /// Handles the entry that blocks the path. Empty: the path is free now, and `note` names an entry that was removed
  /// for that.
  std::optional<LockAttempt> clear(const Directory& at, const std::string& name, std::string& note);
  std::optional<LockAttempt> remove(const Directory& at, const std::string& name, const FileStat& seen);

  FileSystem& files_;
  const Clock& clock_;
  std::map<std::string, LockObservation> observations_;
  std::vector<std::uint32_t> held_us_;  // microseconds of the last holds, as a ring; grows to its size
  mutable Contention told_;         // cached, because every poll asks for it
  std::uint64_t holds_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t stale_taken_ = 0;
};

}  // namespace inbox_poller::poller

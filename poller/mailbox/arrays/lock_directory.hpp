// The lock of one inbox: the directory `<inbox>.json.lock`, made by mkdir, gone by rmdir, as proper-lockfile 4.1.2 does
// it. What it is not: a queue for the lock. One call is one attempt; the caller decides when to come back. Invariants:
// nothing is ever written inside a lock directory; nothing that could be somebody's data is removed (a directory with
// contents, a link, a large file); a lock that is no longer ours is never removed by us. The known weakness of the
// protocol is kept, not widened: of two waiters that judge a lock abandoned at the same moment both may believe to own
// it. We look again right before removing one, and holders check `still_ours()` before they commit. Source:
// docs/reference/wire.md W9, W10.
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

/// False only when the system says that there is no such process. One in another container looks dead as well, which is
/// why another tool's lock file is left alone for `foreign_patience` first.
bool may_be_alive(int pid);

/// What releasing a lock found.
struct LockRelease {
  bool intact = true;  // false: somebody broke the lock while we held it
  std::string detail;  // for people; empty when all is well
};

/// A lock that we hold; gone with this object at the latest. The Directory and LockDirectory must outlive it.
class HeldLock {
 public:
  HeldLock(HeldLock&& other) noexcept;
  HeldLock& operator=(HeldLock&&) = delete;
  ~HeldLock();

  /// True if the directory at the path is still the one we made.
  [[nodiscard]] bool still_ours() const;
  LockRelease release();

 private:
  friend class LockDirectory;
  HeldLock(LockDirectory& owner, const Directory& at, const std::string& name)
      : owner_(&owner), at_(&at), name_(name) {}

  LockDirectory* owner_;  // null: released
  const Directory* at_;
  std::string name_;
  // Kept open: while it is, no other directory can get its inode number, and the file system frees it outside the lock.
  Directory self_;
  SteadyTime since_{};
};

enum class LockOutcome {
  acquired,
  held,     // by a peer; come back
  foreign,  // by something that is not a lock of our protocol
  fault,
};

struct LockAttempt {
  LockOutcome outcome = LockOutcome::fault;
  std::optional<HeldLock> lock;  // with `acquired`
  std::string detail;            // for people; with `acquired` it says what had to be removed first
};

/// All inbox locks of one team, with what was seen of each.
class LockDirectory {
 public:
  LockDirectory(FileSystem& files, const Clock& clock) : files_(files), clock_(clock) {}

  /// One attempt at `name` (such as "team-lead.json.lock") in the open folder.
  LockAttempt try_acquire(const Directory& at, const std::string& name);

  /// Whether the directory at the path is still the one that the lock made.
  [[nodiscard]] bool has(const HeldLock& lock) const;
  /// What HeldLock::release() does; nothing for a lock that is released already.
  LockRelease release(HeldLock& lock);

  [[nodiscard]] Contention statistics() const;

 private:
  LockAttempt own(HeldLock lock, std::string note);
  /// Looks at what blocks the path. Empty: the path is free now, and `note` says if something had to be removed for it.
  std::optional<LockAttempt> clear(const Directory& at, const std::string& name, std::string& note);
  std::optional<LockAttempt> remove(const Directory& at, const std::string& name, const FileStat& seen);

  FileSystem& files_;
  const Clock& clock_;
  std::map<std::string, LockObservation> observations_;
  std::vector<std::uint32_t> held_us_;  // the last holds, as a ring; grows to its size
  mutable Contention told_;         // asked for at each poll
  std::uint64_t holds_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t stale_taken_ = 0;
};

}  // namespace inbox_poller::poller

// The mailbox of one team, as every transport offers it: look, read, mark, append, look again. All calls return at
// once; a held lock is an outcome, and the caller decides when to come back. Calls for one mailbox are made one at a
// time (from any thread). What it is not: a queue. What was seen, decided and owed lives in the ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "poller/filesystem.hpp"
#include "poller/mailbox/arrays/known_entries.hpp"
#include "schema/error.hpp"
#include "schema/ids.hpp"
#include "schema/inbox_document.hpp"
#include "schema/roster.hpp"
#include "schema/task.hpp"

namespace inbox_poller::poller {

/// What a look at an inbox found, before anything is opened.
enum class Glance { unchanged, changed, missing };

struct GlanceResult {
  Glance glance = Glance::missing;
  std::uint64_t size = 0;  // bytes; for deciding where to read
};

enum class ReadOutcome {
  document,     // a well-formed array (possibly `[]`)
  missing,      // no such file
  empty,        // 0 bytes or white space: a writer is at work or died; never "no messages"
  torn,         // does not parse, or moved while we read it; try again soon
  not_regular,  // FIFO, directory, symbolic link, socket, device: never opened
  too_large,    // over the limit; nothing was read
  lock_held,    // only when reading under the lock
  fault,        // I/O error; `detail` says which
};

/// "ok", "torn" and the like, for people and `status`.
std::string_view to_string(ReadOutcome);

/// What one look at all inboxes found of one.
struct InboxGlance {
  std::string inbox;
  GlanceResult result;
};

/// A part of a file of which not everything is held at once.
struct Window {
  std::size_t first = 0;  // entries of the document: [first, last)
  std::size_t last = 0;
  schema::Span bytes;  // in the file
  ByteHash::Value hash;
};

struct ReadResult {
  ReadOutcome outcome = ReadOutcome::missing;
  /// With `document`: the entries. With `torn`: what could be salvaged (complete entries before the damage) and the raw
  /// bytes.
  schema::InboxDocument document;
  std::string detail;  // for people; empty when there is nothing to say

  // Of read_news() with a `document` outcome:
  Head head;                         // what was recognised and left out; then what remember() put behind it
  std::size_t skipped = 0;           // entries that were left out
  std::size_t knew = 0;              // entries that were known before
  std::vector<Window> windows;       // the document; the first one is at hand
  std::shared_ptr<const File> file;  // with several windows
};

/// A roster as it was last read whole.
struct RosterCopy {
  std::string bytes;       // empty: none was
  std::uint64_t file = 0;  // its inode
};

enum class ReadMode {
  unlocked,    // respects a lock that is present by noticing bytes that move
  under_lock,  // one attempt at the lock; the last word on a file that will not parse
};

enum class WriteOutcome {
  done,
  already_there,  // append only: an entry with this key is in the file
  lock_held,      // by a peer; come back
  lock_foreign,   // something that is not a lock directory of our protocol blocks the path; `detail` says what and what
                  // to do
  changed,        // the bytes are not those we read; read again
  missing,        // mark: the file is gone; append: the team's folder is
  refused,        // not a regular file, a name we will not touch, a directory that is a link
  fault,          // I/O error
};

struct WriteResult {
  WriteOutcome outcome = WriteOutcome::done;
  std::string detail;
  std::size_t marked = 0;  // mark only: how many flags were set by this call
};

struct TasksReleased {
  WriteOutcome outcome = WriteOutcome::done;  // `missing`: there is no task list
  std::string detail;
  std::vector<schema::Task> tasks;  // given back by this call
};

/// What a later look says about something we appended.
enum class Presence {
  unread,       // still there, not read yet
  read,         // there, marked read by its owner
  gone,         // consumed: the entries that were unread before ours are gone as well, or there were none
  overwritten,  // gone, while entries that stood unread before it are still there: a peer's unlocked write ate it
};

/// Remembered from an append so that `gone` and `overwritten` can be told apart.
struct AppendReceipt {
  schema::MessageKey key;
  std::vector<schema::MessageKey> unread_before;  // the oldest ones, at most 32
  bool keeps_read = false;                        // read entries stood there: its owner marks and never removes
};

/// The entries of one reading by their keys, for whoever has many to look up. Refers to both.
class EntryIndex {
 public:
  /// `known` is what was known before that reading.
  EntryIndex(const ReadResult& reading, const KnownEntries& known);
  [[nodiscard]] bool empty() const { return empty_; }
  /// Nothing when there is no such entry.
  [[nodiscard]] std::optional<bool> is_unread(const schema::MessageKey& key) const;

 private:
  std::unordered_map<std::string_view, bool> unread_;
  const KnownEntries& known_;
  bool empty_;
};

/// Where something we appended is, going by a later reading of the inbox; `missing` inboxes have consumed everything.
Presence presence_in(const EntryIndex& entries, const AppendReceipt& receipt);

/// How long locks were held and how often they were met; microseconds. For `status` and the benchmark.
struct LockStatistics {
  std::uint64_t acquired = 0;
  std::uint64_t refused = 0;
  std::uint64_t stale_taken = 0;
  std::uint64_t median_us = 0;
  std::uint64_t p99_us = 0;
};

class Mailbox {
 public:
  virtual ~Mailbox() = default;

  /// One stat, no open. `changed` is also reported for a file so young that its time stamp cannot yet tell two writes
  /// apart.
  virtual GlanceResult glance(const std::string& inbox) = 0;

  /// Reads the inbox. After a `document` outcome, later glances compare with the version read here.
  virtual ReadResult read(const std::string& inbox, ReadMode mode) = 0;

  /// read() for whoever comes again and again: entries that remember() covers are left out while their bytes are the
  /// same, and only a window of a large file is at hand.
  virtual ReadResult read_news(const std::string& inbox, ReadMode mode) = 0;
  /// Puts the bytes of that window at hand. False when they are not there any more: the reading ends here.
  virtual bool show(ReadResult& reading, std::size_t window) = 0;
  /// The entries of the window that is at hand are dealt with: of those that follow the head without a gap, the ones
  /// that are marked read need not be shown again. To be called for one window after the other. Returns how many
  /// entries of the document are known now.
  virtual std::size_t remember(const std::string& inbox, ReadResult& reading, std::size_t window) = 0;
  /// What remember() covers.
  [[nodiscard]] virtual const KnownEntries& known(const std::string& inbox) const = 0;
  /// Whoever reads this inbox next has never seen it.
  virtual void forget(const std::string& inbox) = 0;

  /// Sets the read flag of these entries of `document` (as returned by read()), under the lock, in place where that can
  /// be done, and by replacement where the flag is absent or lies across a sector's end. Where both are needed, those
  /// in place come first, and the outcome is `changed`: the others are set when the file has been read again. Holds the
  /// lock for a bounded number of entries at a time.
  virtual WriteResult mark_read(const std::string& inbox, const schema::InboxDocument& document,
                                std::span<const std::size_t> indexes) = 0;

  /// Appends one encoded entry, creating the inbox if it is missing. Looks first: an entry with the same key there
  /// already is `already_there`. The new bytes are on the disk before the lock is taken; under it there is a check and
  /// a rename.
  virtual WriteResult append(const std::string& inbox, std::string_view entry, AppendReceipt& receipt) = 0;

  /// Takes these entries of `document` (all of the file, as read() gives it) out of the inbox, under the lock; what
  /// remember() covers of the others stays covered. For a person's `inbox clear` and for compaction. After a `fault` it
  /// is not known whether they are gone.
  virtual WriteResult remove(const std::string& inbox, const schema::InboxDocument& document,
                             std::span<const std::size_t> indexes) = 0;

  /// Names of all inboxes of the team (valid names only), sorted.
  virtual Result<std::vector<std::string>> inboxes() = 0;

  /// A glance at each of them, sorted by name; valid until the next call.
  virtual Result<std::span<const InboxGlance>> glances() = 0;

  /// Opens no file: false while what roster() last returned is certainly still what is there. The looks that follow
  /// share the folder that this opens, up to glances().
  virtual bool roster_changed() = 0;

  /// The team's roster. An error "roster.missing" means that this is not a team (yet), "roster.empty" that its file
  /// holds nothing.
  virtual Result<schema::Roster> roster() = 0;
  /// What roster() last read whole.
  [[nodiscard]] virtual const RosterCopy& roster_copy() const = 0;
  /// What an earlier process read whole; to be called before roster().
  virtual void remember_roster(RosterCopy) = 0;
  /// True when roster() found nothing in the very file that the copy is of, again and again for so long that nobody is
  /// writing it: the copy is what should stand there.
  [[nodiscard]] virtual bool roster_is_lost() const = 0;
  /// Puts the copy back without these members, under the roster's lock, if the roster is lost and still as it was seen.
  virtual WriteResult mend_roster(const std::vector<std::string>& without) = 0;

  /// Takes a member out of the roster, under its lock; every other byte stays. `already_there` when it is out.
  virtual WriteResult remove_member(const std::string& name) = 0;

  /// Gives back every unfinished task of this member, under the task list's lock; tells which. Files that are no tasks
  /// are passed over.
  virtual TasksReleased release_tasks(const std::string& name, const std::string& agent_id) = 0;

  [[nodiscard]] virtual LockStatistics lock_statistics() const = 0;
};

}  // namespace inbox_poller::poller

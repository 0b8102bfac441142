// Outcomes of reads and writes of an array inbox, and the data that tells whether an entry of ours is still there. All
// calls return at once; a held lock is an outcome, and the caller decides when to retry.
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
#include "poller/mailbox/arrays/prefix_cache.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "schema/error.hpp"
#include "schema/ids.hpp"
#include "poller/mailbox/arrays/inbox_document.hpp"

namespace inbox_poller::poller {

/// Result of a check by stat, before any open.
enum class Glance { unchanged, changed, missing };

struct GlanceResult {
  Glance glance = Glance::missing;
  std::uint64_t size = 0;  // bytes; decides on which thread to read
};

enum class ReadOutcome {
  document,     // a well-formed array (possibly `[]`)
  missing,      // no such file
  empty,        // 0 bytes or white space: a writer is active or died; never "no messages"
  torn,         // does not parse, or changed while it was read; try again soon
  not_regular,  // FIFO, directory, symbolic link, socket, device: never opened
  too_large,    // over the limit; nothing was read
  lock_held,    // only when reading under the lock
  fault,        // I/O error; `detail` names it
};

/// Converts the outcome to the state of the port.
BoxState state_of(ReadOutcome);

/// Result of one scan of all inboxes for one inbox.
struct InboxGlance {
  std::string inbox;
  GlanceResult result;
};

/// One part of a file that is not completely in memory.
struct Window {
  std::size_t first = 0;  // entries of the document: [first, last)
  std::size_t last = 0;
  schema::Span bytes;  // in the file
  ByteHash::Value hash;
};

struct ReadResult {
  ReadOutcome outcome = ReadOutcome::missing;
  /// With `document`: the entries. With `torn`: the complete entries before the damage, and the raw bytes.
  InboxDocument document;
  std::string detail;  // for people; empty when there is nothing to say

  // Set by read_news() with a `document` outcome:
  Head head;                         // first the recognized and skipped head; remember() extends it
  std::size_t skipped = 0;           // entries that were skipped
  std::size_t knew = 0;              // entries that were known before
  std::vector<Window> windows;       // the document; the first one is loaded
  std::shared_ptr<const File> file;  // with several windows
};

enum class ReadMode {
  unlocked,    // ignores locks; bytes that change during the read give `torn`
  under_lock,  // one attempt at the lock; decides about a file that does not parse
};

enum class WriteOutcome {
  done,
  already_there,  // append only: the file has an entry with this key
  lock_held,      // by a peer; try again later
  lock_foreign,   // something that is not a lock directory of our protocol blocks the path; `detail` says what and what
                  // to do
  changed,        // the bytes are not those that were read; read again
  missing,        // mark: the file is gone; append: the team's folder is
  refused,        // not a regular file, an invalid name, a directory that is a link
  fault,          // I/O error
};

/// Converts the outcome to the status of the port.
WriteStatus put_of(WriteOutcome);

struct WriteResult {
  WriteOutcome outcome = WriteOutcome::done;
  std::string detail;
  std::size_t marked = 0;  // mark only: number of flags set by this call
};

/// Record of an append, needed to distinguish `consumed` from `lost`.
struct AppendReceipt {
  schema::MessageKey key;
  std::vector<schema::MessageKey> unread_before;  // the oldest ones, at most 32
  bool keeps_read = false;                        // the file had read entries: its owner marks and never removes
  bool was_cleared = false;                       // the file was missing or `[]`: all earlier entries were consumed
};

/// Index of one reading's entries by key, for many lookups. Refers to the reading and to `known`, which must outlive
/// it.
class EntryIndex {
 public:
  /// Builds the index; `known` is the cache as of that reading.
  EntryIndex(const ReadResult& reading, const PrefixCache& known);
  [[nodiscard]] bool empty() const { return empty_; }
  /// Returns no value when there is no such entry.
  [[nodiscard]] std::optional<bool> is_unread(const schema::MessageKey& key) const;

 private:
  std::unordered_map<std::string_view, bool> unread_;
  const PrefixCache& known_;
  bool empty_;
};

/// Derives the state of an appended entry from a later reading. `consumed`: marked read, or gone together with the
/// entries that were unread before it. `lost`: gone while those are still there, because a peer's unlocked write
/// overwrote it.
ReadStatus read_status_in(const EntryIndex& entries, const AppendReceipt& receipt);

}  // namespace inbox_poller::poller

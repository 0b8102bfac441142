// What a look at an array inbox, and a write into one, may come to; and what tells of an entry of ours whether it is
// there still. All calls return at once; a held lock is an outcome, and the caller decides when to come back.
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

/// The same, as the port says it.
BoxState state_of(ReadOutcome);

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
  InboxDocument document;
  std::string detail;  // for people; empty when there is nothing to say

  // Of read_news() with a `document` outcome:
  Head head;                         // what was recognised and left out; then what remember() put behind it
  std::size_t skipped = 0;           // entries that were left out
  std::size_t knew = 0;              // entries that were known before
  std::vector<Window> windows;       // the document; the first one is at hand
  std::shared_ptr<const File> file;  // with several windows
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

/// The same, as the port says it.
WriteStatus put_of(WriteOutcome);

struct WriteResult {
  WriteOutcome outcome = WriteOutcome::done;
  std::string detail;
  std::size_t marked = 0;  // mark only: how many flags were set by this call
};

/// Remembered from an append so that `consumed` and `lost` can be told apart.
struct AppendReceipt {
  schema::MessageKey key;
  std::vector<schema::MessageKey> unread_before;  // the oldest ones, at most 32
  bool keeps_read = false;                        // read entries stood there: its owner marks and never removes
};

/// The entries of one reading by their keys, for whoever has many to look up. Refers to both.
class EntryIndex {
 public:
  /// `known` is what was known before that reading.
  EntryIndex(const ReadResult& reading, const PrefixCache& known);
  [[nodiscard]] bool empty() const { return empty_; }
  /// Nothing when there is no such entry.
  [[nodiscard]] std::optional<bool> is_unread(const schema::MessageKey& key) const;

 private:
  std::unordered_map<std::string_view, bool> unread_;
  const PrefixCache& known_;
  bool empty_;
};

/// What became of something we appended, going by a later reading: `consumed` when it is marked read, or gone together
/// with what stood unread before it; `lost` when it is gone while those are still there: a peer's unlocked write ate it.
ReadStatus fate_in(const EntryIndex& entries, const AppendReceipt& receipt);

}  // namespace inbox_poller::poller

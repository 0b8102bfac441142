// The port to mailbox systems: the boxes of one team, read and written as neutral messages. The encoding, the place of
// a message and the protection against concurrent writers belong to the implementation.
// A mailbox is not a queue: accepted messages, decisions and pending replies live in the ledger.
// Calls for one team are made one at a time. Calls that may wait (for a lock, another writer, a large file) are
// awaitables. All other calls return at once.
// Source: docs/adr/0030-the-port.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/ids.hpp"
#include "schema/message.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

/// Outcome of a write to a box, a roster or a task list.
enum class WriteStatus {
  done,     // the change was made and is durable
  unchanged,  // the change was in place already; nothing was written
  busy,     // another writer is active; try again later
  blocked,  // an obstacle stays until a person removes it; `detail` names the obstacle
  gone,     // there is nothing to change: no team, no inbox, no list
  refused,  // the target is not a thing that this program writes to
  fault,    // unknown whether the change was made
};

struct WriteReceipt {
  WriteStatus put = WriteStatus::done;
  std::string detail;  // for people; empty when there is nothing to say
};

/// State of a message that this program posted, as of the last scan of its inbox.
enum class ReadStatus {
  waiting,   // its owner has not read it
  consumed,  // read, or removed in the way in which its owner removes messages
  lost,      // removed without having been read
};

/// Role in which a caller reads a box.
enum class Access {
  exclusive,  // the only consumer; messages acknowledged with `ack` are consumed
  shared,     // beside another consumer, which takes all that is not acknowledged with `ack`
  observe,    // beside another consumer; the box is never written to and never locked
  peek,       // reads another member's box once, without waiting for writers or locks
};

enum class BoxState {
  open,
  missing,
  empty,        // no content, though there must be some: a writer is active, or died
  torn,         // does not parse, or changed while it was read
  not_regular,  // a pipe, a link, a folder: never opened
  too_large,    // over the size limit; nothing was read
  held,         // locked by a peer during all attempts
  fault,        // `detail` names the fault
};
/// Words for people and for the output of `status`, in the order of BoxState.
consteval auto words_of(BoxState) {
  return std::to_array<std::string_view>(
      {"ok", "missing", "empty", "torn", "not_regular", "too_large", "locked", "fault"});
}
inline std::string_view to_string(BoxState state) { return schema::name_of(state); }

/// One message as a box holds it. The view is valid until the next call for the same box.
struct BoxMessage {
  schema::MessageKey key;  // equal for the same message in every scan
  std::string_view bytes;  // as they are in the box
  bool read = false;       // marked as consumed before this scan
  bool may_be_repeat = false;  // another node may have shown it to its lead
  long long joined_ms = 0;     // join time of the sender, as its node told it; 0: not told
};

/// Content of a message's bytes.
struct Decoded {
  schema::Message message;
  bool says_all = true;  // the bytes contain nothing more that is worth keeping
  std::string ignored = {};  // fields that counted as absent, for people: "color: expected a string, found a number"
};

/// Evidence that another program consumes a box.
struct ConsumerEvidence {
  enum class What {
    flipped,   // new in this scan and marked read already; no sender writes that
    swept,     // all read messages are gone at once, as a consumer that deletes leaves a box
    consumed,  // unread before and not now, and not by us; or read by another program before we marked it
  };
  What what = What::consumed;
  schema::MessageKey key;               // empty with `swept`
  std::chrono::milliseconds waited{0};  // since the first scan that saw the message; `consumed` only
};

struct BoxSize {
  std::size_t entries = 0;
  std::size_t unread = 0;
  std::uint64_t bytes = 0;
  long long oldest_unread_ms = 0;  // wall clock; the first scan that saw it. 0: none, or Access::peek
};

/// Result of receive(): one piece of a scan of a box.
struct Batch {
  BoxState state = BoxState::missing;
  std::string detail;        // for people; empty when there is nothing to say
  std::vector<BoxMessage> taken;  // in the box's order. With `torn`: the complete messages before the damage; no ack()
  bool more = false;         // receive() returns more messages of this scan, after ack()
  std::vector<ConsumerEvidence> signs;   // with the first piece of a scan
  BoxSize size;              // with the first piece of a scan
  std::string_view damaged;         // with `torn`: all bytes of the box
  std::uint32_t damaged_looks = 0;  // number of consecutive scans that found exactly this damage
};

/// Disposition of a received message, after the commit.
enum class Ack {
  ack,      // consumed
  skip,     // not returned again, and not changed
  requeue,  // returned by the next scan; it did not fit
};

struct Settled : WriteReceipt {
  std::size_t consumed = 0;  // messages consumed by this call, also those acknowledged earlier
};

/// One message of a box as expunge() shows it to the policy, in the box's order.
struct Item {
  const schema::MessageKey* key = nullptr;
  std::size_t bytes = 0;
  bool read = false;
};
/// Chooses the messages to remove: ascending indexes of the items. No value means that expunge() must do nothing now.
/// `bytes` is the size of the box.
using RetentionPolicy = std::function<boost::asio::awaitable<std::optional<std::vector<std::size_t>>>(std::span<const Item>,
                                                                                             std::uint64_t bytes)>;
struct Expunged : WriteReceipt {  // `unchanged`: nothing to remove. `busy`: peers wrote in all attempts
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};

/// A box, and whether it may hold messages that receive() has not returned.
struct ReadyBox {
  std::string box;
  bool changed = false;
};

/// Statistics of the locks of a team, for `status` and the benchmark. Times are in microseconds.
struct Contention {
  std::uint64_t acquired = 0;
  std::uint64_t refused = 0;
  std::uint64_t stale_taken = 0;
  std::uint64_t median_us = 0;
  std::uint64_t p99_us = 0;
};

class Mailbox {
 public:
  virtual ~Mailbox() = default;

  // --- reading ---
  /// Fetches from a remote system at the start of a poll. All calls that return at once answer from the result.
  virtual boost::asio::awaitable<void> sync() { co_return; }
  /// Sets a callback for possible news, called on the same thread; the system may never call it. Systems of files
  /// leave it unset, because a watch of the folder reports changes.
  virtual void subscribe(std::function<void()>) {}
  /// Lists all boxes by name and opens none. The view is valid until the next call. The first call also removes the
  /// unfinished work of a killed predecessor.
  virtual Result<std::span<const ReadyBox>> ready_boxes() = 0;
  /// True if the last two calls of ready_boxes() found the same boxes, without news in any.
  [[nodiscard]] virtual bool is_idle() const { return false; }
  /// Declares that a watch reports changes, so that ready_boxes() need not check every box in every poll. Every box is
  /// checked until this is called, and after each doubt. Source: docs/adr/0031-looks-in-turn.md.
  virtual void use_notifications(bool) {}
  /// Returns at most `most` new messages of a box. A later scan returns unacknowledged messages again.
  virtual boost::asio::awaitable<Batch> receive(std::string box, Access, std::size_t most) = 0;
  /// Applies one disposition to each message of the last batch that receive() returned as `open`, also for an empty
  /// batch. Call it after the commit, never before. Some systems consume messages only with the last piece. The next
  /// scan retries those that could not be consumed.
  virtual boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack>) = 0;
  /// Makes receive() return all unread messages again, because the reader's role has changed.
  virtual void rewind(const std::string& box) = 0;
  /// Decodes one message. The error for a bad message among good ones names the field and the value found.
  [[nodiscard]] virtual Result<Decoded> decode(std::string_view bytes) const = 0;
  /// Returns bytes from which decode() restores this message.
  [[nodiscard]] virtual std::string encode(const schema::Message&) const { return {}; }
  /// Returns a predicate: true for a message that is or recently was in the box, so that its row must not be pruned.
  [[nodiscard]] virtual std::function<bool(const schema::MessageKey&)> referenced(const std::string& box) const = 0;
  /// Removes consumed messages that the policy chooses.
  virtual boost::asio::awaitable<Expunged> expunge(std::string box, RetentionPolicy) = 0;
  [[nodiscard]] virtual Contention contention() const = 0;
  /// Returns the place of the box, for people.
  [[nodiscard]] virtual std::string location(const std::string& box) const = 0;

  // --- writing ---
  /// Appends the messages to the inbox in this order, each key once, and makes a missing inbox. Tracks the messages
  /// from then on. Returns one receipt for each message: a bad message does not affect the others, and an obstacle for
  /// one stops all after it. Uses few steps where the system can.
  virtual std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message>) = 0;
  WriteReceipt post(const std::string& inbox, const schema::Message& message) {
    return post(inbox, std::span(&message, 1)).front();
  }
  /// Tracks a message that an earlier process posted, for read_status().
  virtual void track(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Returns the state of a tracked message.
  [[nodiscard]] virtual ReadStatus read_status(const std::string& inbox, const schema::MessageKey&) const = 0;
  /// Ends the tracking of a message.
  virtual void untrack(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Withdraws messages of ours that the inbox's owner has not read. `gone` when there is no readable inbox.
  virtual WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey>) = 0;
};

}  // namespace inbox_poller::poller

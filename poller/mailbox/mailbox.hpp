// The boxes of one team, as every mailbox system offers them. What is read and written is a neutral message; how it is
// spelt, where it stands, and what keeps others from writing at the same moment is the system's own. Calls for one team
// are made one at a time. What waits (for a lock, a writer who is at it, a big file) is an awaitable; everything else
// returns at once. What it is not: a queue. What was accepted, decided and is owed lives in the ledger.
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

/// What came of a change somebody asked for.
enum class WriteStatus {
  done,     // durable
  unchanged,  // it was so before
  busy,     // somebody else is at it: come back
  blocked,  // by something that does not go by itself: a person must look; `detail` says at what
  gone,     // there is nothing to change: no team, no inbox, no list
  refused,  // what stands there is nothing that we would write to
  fault,    // it cannot be told whether it is done
};

struct WriteReceipt {
  WriteStatus put = WriteStatus::done;
  std::string detail;  // for people; empty when there is nothing to say
};

/// What became of a message of ours, as of the last look into its inbox.
enum class ReadStatus {
  waiting,   // its owner has not read it
  consumed,  // read, or taken out as its owner takes messages out
  lost,      // gone without having been read
};

/// As whom somebody looks into a box.
enum class Access {
  exclusive,  // alone: what is settled as `ack` is consumed
  shared,     // another consumes it, too: only what is settled so is consumed, the other takes the rest
  observe,    // another consumes it: never written to, never locked
  peek,       // it is somebody else's: looked through once, without patience
};

enum class BoxState {
  open,
  missing,
  empty,        // nothing, where there must be something: a writer is at work, or died
  torn,         // does not parse, or moved while it was read
  not_regular,  // a pipe, a link, a folder: never opened
  too_large,    // over the limit; nothing was read
  held,         // by a peer, all the time that we were patient
  fault,        // `detail` says which
};
/// For people and `status`.
consteval auto words_of(BoxState) {
  return std::to_array<std::string_view>(
      {"ok", "missing", "empty", "torn", "not_regular", "too_large", "locked", "fault"});
}
inline std::string_view to_string(BoxState state) { return schema::name_of(state); }

/// One message as a box holds it. Valid until the next call for the same box.
struct Taken {
  schema::MessageKey key;  // the same message has the same key, wherever and however often it is met
  std::string_view bytes;  // as they stand there
  bool read = false;       // consumed before we came
};

/// What a message's bytes say.
struct Decoded {
  schema::Message message;
  bool says_all = true;  // the bytes say nothing else that would be worth keeping
  std::string ignored = {};  // fields that counted as absent, for people: "color: expected a string, found a number"
};

/// What tells that somebody else consumes a box.
struct ConsumerEvidence {
  enum class What {
    flipped,   // new here, and read already: nobody writes a message like that
    swept,     // all that was read has gone at once, as a consumer that deletes leaves it
    consumed,  // unread before and not now, and not by us; or read by somebody before we marked it
  };
  What what = What::consumed;
  schema::MessageKey key;               // none with `swept`
  std::chrono::milliseconds waited{0};  // since we first saw it; `consumed` only
};

struct BoxSize {
  std::size_t entries = 0;
  std::size_t unread = 0;
  std::uint64_t bytes = 0;
  long long oldest_unread_ms = 0;  // by our clock, when we first saw it; 0: none is unread. Not for a passer-by
};

/// What a look at a box gives, in pieces.
struct Batch {
  BoxState state = BoxState::missing;
  std::string detail;        // for people; empty when there is nothing to say
  std::vector<Taken> taken;  // in the box's order. With `torn`: what stands whole before the damage; not to be settled
  bool more = false;         // take() again, after ack(), for what follows
  std::vector<ConsumerEvidence> signs;   // with the first piece of a look
  BoxSize size;              // likewise
  std::string_view damaged;         // with `torn`: all that is there
  std::uint32_t damaged_looks = 0;  // so many looks in a row found exactly this
};

/// What becomes of one that was taken and committed.
enum class Ack {
  ack,      // consumed
  skip,     // not shown again, and not touched
  requeue,  // shown at the next look: it did not fit
};

struct Settled : WriteReceipt {
  std::size_t consumed = 0;  // by this call, whenever they were settled
};

/// One of what a box holds, in its order.
struct Item {
  const schema::MessageKey* key = nullptr;
  std::size_t bytes = 0;
  bool read = false;
};
/// Says which may go, by their indexes, ascending; nothing at all when nothing is to be done now.
using RetentionPolicy = std::function<boost::asio::awaitable<std::optional<std::vector<std::size_t>>>(std::span<const Item>,
                                                                                             std::uint64_t bytes)>;
struct Trimmed : WriteReceipt {  // `already`: nothing to gain. `busy`: others were at it all the time
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};

/// One box, and whether it may hold something that has not been shown.
struct News {
  std::string box;
  bool changed = false;
};

/// How long locks were held and how often others were met at them; microseconds. For `status` and the benchmark.
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
  /// What a poll does first, where boxes are far away: all that returns at once says what was found here.
  virtual boost::asio::awaitable<void> refresh() { co_return; }
  /// Whom to tell, on the same thread, that there may be news; may never be called. Where boxes are files the folder tells.
  virtual void on_news(std::function<void()>) {}
  /// All boxes, by name; opens nothing. Valid until the next call. The first call also clears away what a killed
  /// predecessor left half done.
  virtual Result<std::span<const News>> ready_boxes() = 0;
  /// Whether the last two looks of ready_boxes() found the same boxes with nothing new in any.
  [[nodiscard]] virtual bool rests() const { return false; }
  /// Whether somebody tells of changes: ready_boxes() then need not look at every box every time. Until it is called, and after
  /// each doubt, it does. Source: docs/adr/0031-looks-in-turn.md.
  virtual void rely_on_hints(bool) {}
  /// What is new in a box, at most so many. What was not settled
  /// before is shown again.
  virtual boost::asio::awaitable<Batch> receive(std::string box, Access, std::size_t most) = 0;
  /// Of an open batch that take() gave last, also of an empty one: one disposal for each. After the commit, never
  /// before. Consuming may wait for the last piece; what could not be consumed is tried again at the next look.
  virtual boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack>) = 0;
  /// Shows everything again that is still unread: the reader stands differently now.
  virtual void rewind(const std::string& box) = 0;
  /// An error for a bad one among good ones: it names the field and what was found.
  [[nodiscard]] virtual Result<Decoded> decode(std::string_view bytes) const = 0;
  /// The bytes of which decode() makes this message.
  [[nodiscard]] virtual std::string encode(const schema::Message&) const { return {}; }
  /// Whether a message may stand in the box still, or did until a moment ago: its row must not be pruned.
  [[nodiscard]] virtual std::function<bool(const schema::MessageKey&)> held(const std::string& box) const = 0;
  /// Takes out what is consumed and may go.
  virtual boost::asio::awaitable<Trimmed> trim(std::string box, RetentionPolicy) = 0;
  [[nodiscard]] virtual Contention contention() const = 0;
  /// For people: where the box is.
  [[nodiscard]] virtual std::string place_of(const std::string& box) const = 0;

  // --- writing ---
  /// Puts the messages into the inbox, behind what stands there and in this order, once for each key; makes the inbox if
  /// there is none. Followed from then on. One result for each: what is wrong with one is no matter of the others', and
  /// what stands in the way of one stands in the way of all behind it. In few steps where the system can.
  virtual std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message>) = 0;
  WriteReceipt post(const std::string& inbox, const schema::Message& message) {
    return post(inbox, std::span(&message, 1)).front();
  }
  /// Follows a message that an earlier process posted.
  virtual void track(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Of a message that is followed.
  [[nodiscard]] virtual ReadStatus read_status(const std::string& inbox, const schema::MessageKey&) const = 0;
  /// Nobody asks for its fate any more.
  virtual void untrack(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Whoever owns the inbox will not read these messages of ours, unless it has. `gone` when nobody can read it.
  virtual WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey>) = 0;
};

}  // namespace inbox_poller::poller

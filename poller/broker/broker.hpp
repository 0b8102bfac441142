// Backend between the nodes of one team. A Broker carries streams of frames with one writer and one reader, a lease
// on leadership, and the last heartbeat of each node. A Broker may lose, repeat or forget data, and may answer late or
// never. The sender's ledger keeps each message until the receiver's ledger has committed it (poller/cluster), so no
// message is lost or doubled. Only the sender of a frame is trusted, because a node may append to its own streams only.
// One object serves one team on one node, on one thread. Calls may overlap, except that one coroutine calls receive().
// Each call has a deadline. After an error the outcome is unknown, and every call may be repeated. Errors:
//   "redis.down"    unreachable, too slow or still loading; retry
//   "redis.denied"  user, password, TLS or access rules; a person must fix it
//   "redis.full"    no more memory or disk
//   "redis.unfit"   settings that would lose confirmed data
//   "redis.fault"   anything else
// Messages are for people and never contain a password. Source: docs/adr/0042-nodes.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

/// Address of the streams that the leader node reads.
inline constexpr std::string_view lead_address = "lead";
/// Address of the streams that this node reads. No member name begins with "@".
inline std::string node_address(std::string_view node) { return "@" + std::string(node); }

/// Limit in bytes of an entry; longer entries are not sent to other nodes.
inline constexpr std::size_t longest_frame = std::size_t{8} << 20;

/// One message or receipt from this node. The sender's ledger numbers the frames of each address.
/// A receiver that lacks the frame named by `after` skips this one, and the sender puts both again.
/// The broker stores all fields. put() reads only `address`, `key` and `attempt`.
/// answer() also reads `type`, `request` and `entry`.
struct Frame {
  std::string address;      // node_address() or lead_address
  std::string to;           // member that receives it; empty: the node itself
  std::string from;         // a member of the sending node
  std::string type;         // type of the payload, or of a receipt
  std::string request;      // id of the request that it makes or answers; empty: none
  std::string entry;        // bytes, as the sender's ledger keeps them
  schema::MessageKey key;   // the same for each attempt of one message
  long long number = 0;     // position in its address; 0: not numbered
  long long after = 0;      // last unconfirmed frame before it; to the lead: the last unsettled one; 0: none
  long long at_ms = 0;      // Unix epoch, the sender's wall clock; for people only
  long long joined_ms =
      0;  // of a request to end: of the worker that is asked; of the lead's mail: of its sender; 0: unknown
  int attempt = 0;          // counts attempts without a receipt; each attempt is appended once
};

/// Outcome of one frame in put().
struct PutOutcome {
  enum class What {
    appended,
    was_there,  // this attempt of this key
    fenced,     // another node leads: neither this frame nor a later one was appended
  };
  What what = What::appended;
  std::int64_t epoch = 0;  // with `fenced`: epoch that the broker knows
};

/// One frame as the broker returned it.
struct ReceivedFrame : Frame {
  std::string node;  // sender, proven by the stream's name
  std::string id;    // entry id in the broker, for acknowledge()
};

/// Leadership of the team as the broker knows it.
struct LeaderLease {
  bool ours = false;
  std::string holder;               // node name; empty: no leader
  std::int64_t epoch = 0;           // grows with every election; without a leader, the highest so far
  std::chrono::milliseconds left{0};  // remaining time by the broker's clock; count it from before the call
};

/// Final answer to an approval request.
struct FinalAnswer {
  std::string entry;       // its bytes
  std::string node;        // that decided; empty: no answer is known
  std::int64_t epoch = 0;  // under which it did
};

/// Outcome of one answer to an approval request.
struct AnswerOutcome {
  enum class What {
    decided,    // our answer is final and was appended
    was_ours,   // these bytes were final before; appended as by put()
    other,      // another answer is final: nothing was appended
    fenced,     // as in put()
  };
  What what = What::decided;
  FinalAnswer other;       // with `other`
  std::int64_t epoch = 0;  // with `fenced`: epoch that the broker knows
};

/// Limit in bytes of a heartbeat; longer ones are ignored.
inline constexpr std::size_t longest_beat = std::size_t{256} << 10;
/// Last report of a node about itself; expires after 15 s.
struct Heartbeat {
  std::string node;
  std::string told;  // JSON, opaque to the broker
};

/// Port to the broker of one team. All calls on the thread of the executor.
class Broker {
 public:
  virtual ~Broker() = default;

  /// Appends frames in order and stops at the first `fenced` one; the result has one outcome per frame looked at.
  /// With an epoch, appends as leader; the broker fences every other epoch. With 0, appends as any node.
  virtual boost::asio::awaitable<Result<std::vector<PutOutcome>>> put(std::vector<Frame> frames,
                                                                       std::int64_t epoch) = 0;

  /// Returns new frames for this node and, with `as_leader`, for the lead. Unacknowledged frames come first, of an
  /// earlier process or an earlier leader. Each stream keeps its order and yields at most `most`.
  /// A frame too large to read has only its address, node and id; no honest node writes one.
  /// Waits at most `wait` on its own connection; empty when nothing arrived.
  virtual boost::asio::awaitable<Result<std::vector<ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                                             std::chrono::milliseconds wait) = 0;
  /// Ends a waiting receive(), which returns an empty list, and the reconnect back-off of other calls. Same thread.
  virtual void wake() = 0;
  /// Acknowledges frames that were committed or rejected for good. They are not redelivered unless this fails.
  /// Also trims entries older than 15 minutes.
  virtual boost::asio::awaitable<Status> acknowledge(std::vector<ReceivedFrame> frames) = 0;

  /// Tries to get the 10 s lease. Returns the current lease, ours or another node's. The new epoch is higher than the
  /// broker's and than `epoch_at_least`, the one in our ledger.
  virtual boost::asio::awaitable<Result<LeaderLease>> elect(std::int64_t epoch_at_least) = 0;
  /// Extends our lease to 10 s. The result is not `ours` if the lease or the epoch has changed.
  virtual boost::asio::awaitable<Result<LeaderLease>> renew(std::int64_t epoch) = 0;
  /// Releases the lease if this node holds it under this epoch.
  virtual boost::asio::awaitable<Status> resign(std::int64_t epoch) = 0;
  /// Returns the current lease and changes nothing. Every node may call it.
  virtual boost::asio::awaitable<Result<LeaderLease>> leader() = 0;

  /// Decides approval requests in order. The first answer to (frame.type, frame.request) is final; deciding and
  /// appending are one step. Leader only; stops at the first `fenced` one.
  virtual boost::asio::awaitable<Result<std::vector<AnswerOutcome>>> answer(std::vector<Frame> frames,
                                                                            std::int64_t epoch) = 0;

  /// Returns the final answer to each request, given by (type, request) of its answer. Leader only.
  virtual boost::asio::awaitable<Result<std::vector<FinalAnswer>>> answered(
      std::vector<std::pair<std::string, std::string>> requests) = 0;

  /// Stores the heartbeat of this node for 15 s.
  virtual boost::asio::awaitable<Status> beat(Heartbeat) = 0;
  /// Returns the last heartbeats of all nodes of the team, including this one.
  virtual boost::asio::awaitable<Result<std::vector<Heartbeat>>> nodes() = 0;

  /// Identity of the broker's data; changes after a restart, a failover or a flush. The data is then doubtful, so every
  /// node puts its recent frames again. Repeated attempts are appended only if they are missing.
  /// Read before each put (at most 1 s old) and with every heartbeat. Errors include "redis.unfit".
  virtual boost::asio::awaitable<Result<std::string>> place() = 0;
  /// Problems of the broker's settings that do not prevent its use; sentences for people.
  [[nodiscard]] virtual std::vector<std::string> worries() const = 0;
  /// Address of the broker for people, without user and password.
  [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace inbox_poller::poller

// Messages between nodes in this node's ledger. An outgoing row follows a message until it is settled at the receiving
// node, an incoming row until its owner has read it here. NodeMailTable::prepare() makes the tables for the first team
// on several nodes. A ledger without these tables is valid.
#pragma once

#include <set>

#include "poller/ledger/messages.hpp"

namespace inbox_poller::poller {

BOOST_DEFINE_ENUM_CLASS(MailDirection, out, in)
inline std::string_view to_string(MailDirection direction) { return schema::name_of(direction); }

/// Outgoing: `waiting` here, `put` into Redis, `there` in the other node's ledger, `read` or `refused` there.
/// Incoming: `waiting` here, `there` in the inbox (the lead's: in the journal), `read` by its owner, `refused` here.
BOOST_DEFINE_ENUM_CLASS(NodeMailState, waiting, put, there, read, rejected)
inline std::string_view to_string(NodeMailState state) { return schema::name_of(state); }

/// `problem` of mail for the lead that its sender put again: a leader node that was cut off may have shown it.
inline constexpr std::string_view may_be_repeat = "sent again; another leader node may have shown it";

/// Row of one message between nodes. find(), sent(), untold() and unrecorded_ends() leave `entry` empty.
struct NodeMailRow {
  long long id = 0;  // order of acceptance
  std::string team;
  MailDirection direction = MailDirection::out;
  std::string node;   // out: stream of the message ("@h2", "lead"); in: sending node
  std::string inbox;  // receiver, by member name
  schema::MessageKey key;
  std::string sender;
  std::string type;
  std::string request_id;
  std::string entry;     // bytes, as found in the inbox or as written there
  bool lead = false;     // out: sent by the lead, under a lease, as all but its chat is; in: for the lead
  bool final = false;    // the answer to an approval request
  long long number = 0;  // position in its stream
  EpochMs created_ms = 0;
  NodeMailState state = NodeMailState::waiting;
  EpochMs state_ms = 0;  // start of the state
  int attempts = 0;      // out: repeated puts; in: 1 for the lead's mail that hand_over() gave up
  int told = 0;          // in: receipt that the sender has; 1 for the arrival, 2 for the final state
  std::string problem;   // reason of `refused`; in, while it waits for the lead: may_be_repeat or empty
  // Join time by the clock of the worker's node; 0: unknown. For the lead: of the sender. In, of a request to end: of
  // the worker that is asked.
  EpochMs joined_ms = 0;
  bool unproven = false;  // in, for the lead: its key does not follow from its content
};
/// Returns the key of a message for the lead in the journal. An unproven message gets a key that only its node can
/// have, so that it cannot use up the key of another node's future message.
schema::MessageKey journal_key(const NodeMailRow&);

/// Receipt of a node for messages that came to it.
struct NodeWord {
  std::string stream;  // of that node
  bool leads = false;  // the node leads, so the receipt covers the stream "lead" too
  NodeMailState state = NodeMailState::there;
  std::string problem;  // reason of `refused`
};

/// Message counts of one direction and node.
struct NodeMailCount {
  MailDirection direction = MailDirection::out;
  std::string node;
  long long waiting = 0;  // out: not put; in: not filed
  long long put = 0;      // out: put, without a receipt
  long long there = 0;
  EpochMs oldest_ms = 0;  // of those waiting or put, or 0
};

/// State of Redis, as far as this node knows it.
struct NodePlaceRow {
  std::string team;
  std::int64_t epoch = 0;  // highest one that this node led under or received
  std::string place;       // identity of the Redis server's data
  std::string leader;      // leader node at the last check
};

/// Member of another node that was removed from the team. A later join time makes it a new member.
struct NodeRemovedRow {
  std::string team;
  std::string member;
  long long joined_ms = 0;  // by the clock of its node
};

/// Messages between nodes. Errors of all functions: "ledger.*".
class NodeMailTable {
 public:
  explicit NodeMailTable(Database& database) : database_(database) {}

  /// Makes missing tables, in a transaction of its own.
  Status prepare();

  /// Inserts a row; an outgoing row gets the next number of its stream. Returns false if the team has a row with this
  /// direction, node, inbox and key.
  Result<bool> add(NodeMailRow);
  Result<std::optional<NodeMailRow>> find(std::string_view team, MailDirection, std::string_view node, std::string_view inbox,
                                          const schema::MessageKey&);
  /// Finds the outgoing message with this key to this inbox, in any stream.
  Result<std::optional<NodeMailRow>> sent(std::string_view team, std::string_view inbox, const schema::MessageKey&);
  /// Lists the newest matching messages, oldest first, for `history`. Includes messages that the journal has too.
  Result<std::vector<NodeMailRow>> latest(const MessageTable::Wanted&, int limit);
  /// Lists messages for `trace`, by the beginning of the key or by the request. Empty before prepare().
  Result<std::vector<NodeMailRow>> like(std::string_view prefix, int limit);
  Result<std::vector<NodeMailRow>> of_request(std::string_view request_id, int limit);
  /// Sets the state of these rows. Only a waiting row becomes `put`, because a receipt may come before Redis
  /// confirms.
  Status set(std::string_view team, const std::vector<long long>& ids, NodeMailState, EpochMs now,
             std::string_view problem = {});

  // --- out ---
  /// Lists the streams with waiting messages. Without `leading`, messages of the lead do not count.
  Result<std::vector<std::string>> streams(std::string_view team, bool leading);
  /// Lists the first waiting messages of a stream that are put together: at most about 16 MiB, but at least one.
  Result<std::vector<NodeMailRow>> waiting(std::string_view team, std::string_view stream, bool leading, int limit);
  /// Returns the number of the last message before `number` that was put without a receipt, or 0. In the stream "lead",
  /// messages that are there and not settled count too.
  Result<long long> after(std::string_view team, std::string_view stream, long long number);
  /// Applies a receipt to the outgoing messages with these keys. A state never goes back.
  Status heard(std::string_view team, const NodeWord&, const std::vector<std::string>& keys, EpochMs now);
  /// Requeues the messages of this stream that were put without a receipt, and counts an attempt.
  Status put_again(std::string_view team, std::string_view stream, EpochMs now);
  /// Returns true if a message of `node`, up to number `last`, was handed over to another leader and has not come again.
  Result<bool> is_handed_over(std::string_view team, std::string_view node, long long last);
  /// Marks messages of `node` that were handed over as read, if their number is between the two: another leader has
  /// settled them, because `node` waits for none of them. One that comes again all the same is taken.
  Status settled_elsewhere(std::string_view team, std::string_view node, long long after, long long before, EpochMs now);
  /// Lists the streams with a message that was put 15 s ago, without a receipt. Each attempt of a message prolongs its
  /// wait by 15 s, up to 5 min. A message put in the future is listed: the clock was set back while no daemon ran.
  Result<std::vector<std::string>> unheard(std::string_view team, EpochMs now);
  /// Requeues the messages put without a receipt, because Redis may have lost data. With `lead`, also requeues
  /// those that the lead has and has not settled, without requests that this node itself has answered. Their waits for
  /// a receipt begin anew, since no receiver was slow.
  Status put_all_again(std::string_view team, bool lead, EpochMs now);

  // --- in ---
  /// Returns the highest number received from this node, or 0.
  Result<long long> last_number(std::string_view team, std::string_view node, bool for_lead);
  /// Lists messages to write into local inboxes, oldest first, except those for the inboxes `without`.
  Result<std::vector<NodeMailRow>> to_file(std::string_view team, int limit, const std::set<std::string>& without = {});
  Result<std::vector<NodeMailRow>> filed(std::string_view team);
  Result<std::vector<NodeMailRow>> for_lead(std::string_view team, std::string_view node, long long behind, int limit);
  Result<std::vector<std::string>> nodes_with_mail_for_lead(std::string_view team);
  /// Finds the first received answer to this request of this member; rejected ones do not count.
  Result<std::optional<NodeMailRow>> answer_to(std::string_view team, std::string_view inbox, std::string_view request_id);
  /// Makes the answer that answer_to() finds wait for its inbox again, if its worker has consumed it.
  Status file_answer_again(std::string_view team, std::string_view inbox, std::string_view request_id, EpochMs now);
  /// Marks messages for the lead as read if they have no waiting delivery, open request or pending reply. A reply that
  /// has not reached the worker's node is pending, because the next leader would get the request again.
  Status settle_of_lead(std::string_view team, EpochMs now);
  /// Lists the lead's messages that wait here for a lease of this node, without the answers to requests.
  Result<std::vector<NodeMailRow>> unsent_orders(std::string_view team);
  /// Gives up messages that the lead has not settled, because another node leads. take_up() reverses this.
  Status hand_over(std::string_view team);
  /// Lists the oldest messages of this type that are not filed and whose request has no shutdown here.
  Result<std::vector<NodeMailRow>> unrecorded_ends(std::string_view team, std::string_view type, int limit);
  /// Reclaims a message that hand_over() gave up, in this state.
  Status take_up(long long id, NodeMailState, EpochMs now);
  /// Lists received messages of this node for which it lacks the receipt of the arrival or of the final state.
  Result<std::vector<NodeMailRow>> untold(std::string_view team, std::string_view node, int limit);
  Result<std::vector<std::string>> nodes_to_tell(std::string_view team);
  /// Records which receipt of these messages was sent: 1 arrival, 2 final state, 0 none that counts.
  Status tell(const std::vector<long long>& ids, int told);
  /// Makes all receipts be sent again, because Redis lost data.
  Status tell_all_again(std::string_view team);

  Result<std::vector<NodeMailCount>> counts(std::string_view team);
  /// Counts the waiting and put messages of this direction. An empty `node` means all nodes.
  Result<long long> queued(std::string_view team, MailDirection, std::string_view node = {});
  Result<NodePlaceRow> place(std::string_view team);
  Status set_place(const NodePlaceRow&);
  Result<std::vector<NodeRemovedRow>> removed(std::string_view team);
  Status set_removed(const NodeRemovedRow&);
  /// Deletes messages that ended before then. The last one of each stream stays, because it has the highest number.
  Status prune(std::string_view team, EpochMs before);

 private:
  Database& database_;
  bool prepared_ = false;
};

}  // namespace inbox_poller::poller

// The rows of the ledger as values: messages with their deliveries, replies, members, rules and others. Their storage
// is in the file of each table, which uses the includes of this one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/gate.hpp"
#include "handlers/orders.hpp"
#include "handlers/rule_kind.hpp"
#include "handlers/worker_report.hpp"
#include "poller/clock.hpp"
#include "schema/error.hpp"
#include "schema/ids.hpp"
#include "schema/message.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

class Database;  // sqlite.hpp

/// Kind of an inbox entry, as the receiver classified it.
BOOST_DEFINE_ENUM_CLASS(Disposition, chat, control, status, rejected, duplicate, malformed)
inline std::string_view to_string(Disposition disposition) { return schema::name_of(disposition); }

/// Delivery state of one message for the lead. `offered`: leased, not yet acknowledged. `expired`: given up after
/// delivery.expire_after, or no longer useful, such as a request that was decided meanwhile.
BOOST_DEFINE_ENUM_CLASS(DeliveryState, none, queued, offered, delivered, expired)
inline std::string_view to_string(DeliveryState state) { return schema::name_of(state); }

/// Proof of a delivery. `acknowledged`: by the receiver. `assumed`: written to a place that the lead reads and that
/// cannot acknowledge.
enum class Confirmation { none, acknowledged, assumed };
consteval auto words_of(Confirmation) { return std::to_array<std::string_view>({"", "acknowledged", "assumed"}); }
inline std::string_view to_string(Confirmation confirmation) { return schema::name_of(confirmation); }

/// Rank of a message. Higher ranks overtake, but messages of one sender never overtake each other.
enum class Priority { digest = 0, chat = 1, urgent = 2 };

/// Row of one inbox entry, with its delivery.
struct MessageRow {
  long long id = 0;  // arrival order; assigned by insert()
  std::string team;
  std::string inbox;
  schema::MessageKey key;
  std::string sender;  // the bare name of message.from
  std::string type;    // schema::type_name
  schema::Message message;
  std::string raw;  // the entry's bytes; empty if `message` has all that they said
  Disposition disposition = Disposition::chat;
  std::string code;    // refused/bad: stable code
  std::string reason;  // refused/bad: a sentence
  std::string request_id;
  EpochMs received_ms = 0;
  long long batch = 0;  // the tick that accepted it; control of a batch goes before its chat
  DeliveryState delivery = DeliveryState::none;
  std::string method;  // delivery method of the last offer: "recv", "exec", "file"
  EpochMs offered_ms = 0;
  EpochMs delivered_ms = 0;
  int attempts = 0;  // number of offers, one more if another node may have shown it; above one: a possible repeat
  Confirmation confirmed = Confirmation::none;
  Priority priority = Priority::chat;
};

BOOST_DEFINE_ENUM_CLASS(EffectState, pending, written, done, dead)
inline std::string_view to_string(EffectState state) { return schema::name_of(state); }

/// Row of one reply or outgoing message to a worker.
struct OutboxRow {
  long long id = 0;
  std::string team;
  long long batch = 0;
  std::string inbox;
  schema::MessageKey key;
  schema::Message message;  // without its color, which is never set
  std::string request_id;   // empty for `send`
  EffectState state = EffectState::pending;
  int attempts = 0;
  EpochMs created_ms = 0;
  EpochMs next_ms = 0;  // earliest next attempt
  std::string last_problem;
};

/// Row of one present or former member.
struct MemberRow {
  std::string team;
  std::string name;
  bool present = true;  // in the roster now
  handlers::WorkerReport state = handlers::WorkerReport::none;
  std::string detail;
  std::string task;          // last reported task, one line
  EpochMs last_seen_ms = 0;  // last message of any kind
  bool has_told = false;     // its model has written to the lead since its last turn ended
  std::string turn = {};     // id of the last ended turn; empty once its client has reported idle
  std::string unsent = {};   // key of the text with which that turn ended, if it was kept because it was not sent
};

/// A rule, or a decision about a domain, that a person gave for the session.
struct SessionRule {
  long long id = 0;
  std::string team;
  std::string session;  // session id of the lead then; the rule ends with the session
  handlers::RuleKind kind = handlers::RuleKind::permission;
  std::string action;   // "allow" or "deny"
  std::string rule;
  std::string by;
  EpochMs at_ms = 0;
};

/// A mode or a rule that the lead's side sent to one worker, once and without a request.
struct OrderRow {
  long long id = 0;  // assigned by OrderTable::add()
  std::string team;
  std::string member;
  long long joined_ms = 0;  // the roster's joinedAt; a member that joins again is a new one
  handlers::OrderKind kind = handlers::OrderKind::mode;
  std::string subject;      // the mode's wire name; the rule's text
  std::string origin;       // cause: "config acceptEdits", "command 17", "rule 4"; once per member and origin
  std::string by;
  schema::MessageKey key;  // of the message that carries it
  EpochMs sent_ms = 0;
  handlers::OrderState state = handlers::OrderState::sent;
  EpochMs state_ms = 0;
};

/// State of a team's lead, from its last report.
struct LeadRow {
  handlers::LeadState state = handlers::LeadState::idle;
  EpochMs since_ms = 0;
  EpochMs until_ms = 0;      // busy: end of the report's validity; otherwise 0
  std::string by = {};       // name of the reported event; empty: none yet
  std::string session = {};  // the lead's session, from its hooks or its stream
  std::string pane = {};     // the lead's tmux pane, "%3"; empty: unknown
};

/// Last complete roster of a team.
struct RosterRow {
  std::string bytes;
  std::uint64_t file = 0;  // inode
  EpochMs seen_ms = 0;
};

/// One history line of a message or an approval request.
struct HistoryRow {
  EpochMs at_ms = 0;
  std::string team;
  std::string message_key;
  std::string request_id;
  std::string event;   // name of the log event
  std::string detail;  // one line
  long long id = 0;    // assigned by add()
};

/// Numbers of a team's deliveries. Status messages for a digest count only as `digest`; the digest itself is chat.
struct ChatCounts {
  long long queued = 0;
  long long offered = 0;
  long long delivered = 0;
  long long assumed = 0;  // of the delivered ones: without an acknowledgment
  long long expired = 0;
  long long digest = 0;          // status messages that wait for the digest
  EpochMs oldest_queued_ms = 0;  // arrival of the oldest queued one, or 0
};

}  // namespace inbox_poller::poller

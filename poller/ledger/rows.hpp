// What the ledger's rows hold, as values: a message and where it is on its way, what is owed to others, members, rules.
// What it is not: how a row is stored (one file an aggregate does that, and leans on the includes here).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "poller/clock.hpp"
#include "schema/error.hpp"
#include "schema/ids.hpp"
#include "schema/message.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

class Database;  // sqlite.hpp

/// What became of one inbox entry.
BOOST_DEFINE_ENUM_CLASS(Disposition, chat, control, status, refused, duplicate, bad)
inline std::string_view to_string(Disposition disposition) { return schema::name_of(disposition); }

/// Where one chat message is on its way to the lead. `offered`: handed out, not yet acknowledged. `expired`: given up
/// (delivery.expire_after), or pointless before it was handed over (an ask that was decided meanwhile).
BOOST_DEFINE_ENUM_CLASS(DeliveryState, none, queued, offered, delivered, expired)
inline std::string_view to_string(DeliveryState state) { return schema::name_of(state); }

/// How a delivery is known. `acknowledged`: whoever took it said so. `assumed`: it was written where the lead reads,
/// and nothing speaks back from there.
enum class Confirmation { none, acknowledged, assumed };
consteval auto words_of(Confirmation) { return std::to_array<std::string_view>({"", "acknowledged", "assumed"}); }
inline std::string_view to_string(Confirmation confirmation) { return schema::name_of(confirmation); }

/// What may overtake. Messages of one sender never overtake each other.
enum class Priority { digest = 0, chat = 1, urgent = 2 };

struct MessageRow {
  long long id = 0;  // arrival order; assigned by insert()
  std::string team;
  std::string inbox;
  schema::MessageKey key;
  std::string sender;  // the bare name of message.from
  std::string type;    // schema::type_name
  schema::Message message;
  std::string raw;  // the bytes as they stood in the inbox; empty where `message` says all that they said
  Disposition disposition = Disposition::chat;
  std::string code;    // refused/bad: stable code
  std::string reason;  // refused/bad: a sentence
  std::string request_id;
  EpochMs received_ms = 0;
  long long batch = 0;  // the tick that accepted it; control of a batch goes before its chat
  DeliveryState delivery = DeliveryState::none;
  std::string sink;  // who has or had it: "recv", "exec", "file"
  EpochMs offered_ms = 0;
  EpochMs delivered_ms = 0;
  int attempts = 0;  // times offered; more than one: labelled as a possible repeat
  Confirmation confirmed = Confirmation::none;
  Priority priority = Priority::chat;
};

BOOST_DEFINE_ENUM_CLASS(EffectState, pending, written, done, dead)
inline std::string_view to_string(EffectState state) { return schema::name_of(state); }

struct OutboxRow {
  long long id = 0;
  std::string team;
  long long batch = 0;
  std::string inbox;
  schema::MessageKey key;
  schema::Message message;  // its color is not kept: nothing sets one
  std::string request_id;   // empty for `send`
  EffectState state = EffectState::pending;
  int attempts = 0;
  EpochMs created_ms = 0;
  EpochMs next_ms = 0;  // not before this moment
  std::string last_problem;
};

struct MemberRow {
  std::string team;
  std::string name;
  bool present = true;  // in the roster now
  std::string state;    // what the last status message said: idle, failed, assigned, completed; empty: nothing yet
  std::string detail;
  std::string task;          // the last task heard of, one line
  EpochMs last_seen_ms = 0;  // last message of any kind
};

/// A rule or a host answer that a person gave for the session.
struct SessionRule {
  long long id = 0;
  std::string team;
  std::string session;  // the lead's session id when it was given; a later session starts without it
  std::string kind;     // "permission", "host", or "team": a permission that the workers are told of
  std::string action;   // "allow" or "deny"
  std::string rule;
  std::string by;
  EpochMs at_ms = 0;
};

/// Something sent to one worker of the lead side's own accord, once: a mode or a rule.
struct OrderRow {
  long long id = 0;  // assigned by add_order()
  std::string team;
  std::string member;
  long long joined_ms = 0;  // the roster's joinedAt: one who joins again is somebody new
  std::string kind;         // "mode" or "rule"
  std::string subject;      // the mode's wire name; the rule's text
  std::string origin;       // what caused it: "config acceptEdits", "command 17", "rule 4"; once per member and origin
  std::string by;
  schema::MessageKey key;  // of the message that carries it
  EpochMs sent_ms = 0;
  std::string state = "sent";  // sent, adopted, not_adopted, superseded
  EpochMs state_ms = 0;
};

struct LeadRow {
  std::string state;  // "idle", "busy", "gone"
  EpochMs since_ms = 0;
  EpochMs until_ms = 0;      // busy: when the report runs out; 0 otherwise
  std::string by = {};       // what told it: the event's name; empty: nothing yet
  std::string session = {};  // the lead's session, as its hooks or its stream name it
  std::string pane = {};     // the tmux pane it lives in, "%3"; empty: unknown
};

/// A team's roster as it was last seen whole.
struct RosterRow {
  std::string bytes;
  std::uint64_t file = 0;  // its inode
  EpochMs seen_ms = 0;
};

/// One line in the life of a message or an ask.
struct HistoryRow {
  EpochMs at_ms = 0;
  std::string team;
  std::string message_key;
  std::string request_id;
  std::string event;   // the log event's name
  std::string detail;  // one line
  long long id = 0;    // assigned by add()
};

/// Status messages for a digest are counted only as such; the digest itself is chat.
struct ChatCounts {
  long long queued = 0;
  long long offered = 0;
  long long delivered = 0;
  long long assumed = 0;  // of those: written where the lead reads, without an acknowledgement
  long long expired = 0;
  long long digest = 0;          // status messages that wait to be summed up
  EpochMs oldest_queued_ms = 0;  // when the oldest queued one was received; 0 when none is
};

}  // namespace inbox_poller::poller

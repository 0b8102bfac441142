// The ledger: journal, outbox, duplicate table and archive in one SQLite file (WAL, synchronous=FULL). Accepting
// responsibility for a message means that its row is committed here; nothing is marked read, answered or delivered
// before that. An operator may read it with `sqlite3` at any time; the table definitions are in schema.sql.hpp and
// docs/architecture.md. Invariants: one transaction per tick, for all teams; request states only move along
// handlers::transition; an outbox row's bytes never change; every row carries a checksum of what never changes in it,
// so a row is read as it was written or not at all. A damaged file is an error at open ("ledger.damaged"), never
// silently replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/handler.hpp"
#include "handlers/shutdown.hpp"
#include "poller/clock.hpp"
#include "schema/error.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

/// What became of one inbox entry.
enum class Disposition { chat, control, status, refused, duplicate, bad };
std::string_view to_string(Disposition);

/// Where one chat message is on its way to the lead. `offered`: handed out, not yet acknowledged. `expired`: given up
/// (delivery.expire_after), or pointless before it was handed over (an ask that was decided meanwhile).
enum class DeliveryState { none, queued, offered, delivered, expired };
std::string_view to_string(DeliveryState);

/// How a delivery is known. `acknowledged`: whoever took it said so. `assumed`: it was written where the lead reads,
/// and nothing speaks back from there.
enum class Confirmation { none, acknowledged, assumed };
std::string_view to_string(Confirmation);  // empty for none

/// What may overtake. Messages of one sender never overtake each other.
enum class Priority { digest = 0, chat = 1, urgent = 2 };

struct MessageRow {
  long long id = 0;  // arrival order; assigned by insert()
  std::string team;
  std::string inbox;
  schema::MessageKey key;
  std::string sender;
  std::string timestamp;  // as the sender wrote it
  std::string type;       // schema::type_name
  std::string entry;      // the entry's bytes as they stood in the inbox
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

enum class EffectState { pending, written, done, dead };
std::string_view to_string(EffectState);

struct OutboxRow {
  long long id = 0;
  std::string team;
  long long batch = 0;
  std::string inbox;
  schema::MessageKey key;
  std::string entry;
  std::string request_id;  // empty for `send`
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

class Ledger {
 public:
  /// A reply that could not be written is tried again after this; more would be felt once the fault is over.
  static constexpr EpochMs retry_after_ms = 1000;

  /// Opens or creates the file (0600), checks it and migrates it. ":memory:" is allowed for tests. Errors:
  /// ledger.damaged, ledger.in_use (another daemon has it), ledger.newer (written by a later program), ledger.foreign
  /// (not a ledger), ledger.unsafe (a link, another owner, writable for others), ledger.io, ledger.full.
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  /// Renames a damaged ledger and all that belongs to it to `<path>.damaged-<time>` and returns that name, or an empty
  /// one when there was no ledger. Only ever called because a person asked for it (`run --new-ledger`).
  static Result<std::string> set_aside(const std::string& path, EpochMs now_ms);
  ~Ledger();

  /// Runs `work` in one immediate transaction: commits when it returns success, rolls back on an error or an exception
  /// (which goes on to the caller). After an error the ledger stays usable. Nesting is a mistake and is refused.
  Status transaction(const std::function<Status()>& work);

  /// Inside a transaction: what `work` wrote is undone when it fails, and `outcome` says so; the rest stays. Fails when
  /// the transaction itself is lost with it.
  Status attempt(const std::function<Status()>& work, Status& outcome);

  /// Another number than before once any row may have been written: while it stays, so does every answer to a question
  /// without a moment in it.
  [[nodiscard]] long long changes() const;

  /// Moves what was committed from the write-ahead log into the database when that is due: some milliseconds, to be
  /// spent now and then when nobody waits. Otherwise it comes in a commit, later, and whoever waits for that waits for
  /// it.
  void checkpoint_if_due();

  // messages
  Result<bool> known(const schema::MessageKey&);
  Result<long long> insert(const MessageRow&);
  Result<std::optional<MessageRow>> message(const schema::MessageKey&);
  /// Messages whose key starts with `prefix` (for `trace`), at most `limit`.
  Result<std::vector<MessageRow>> messages_like(std::string_view prefix, int limit);
  /// The newest messages that fit, oldest of them first.
  struct Wanted {
    std::string team, sender, type;  // empty: any
    EpochMs since_ms = 0;
  };
  Result<std::vector<MessageRow>> latest_messages(const Wanted&, int limit);
  /// The newest message of this type about an ask or a shutdown.
  Result<std::optional<MessageRow>> message_about(std::string_view team, std::string_view request_id,
                                                  std::string_view type);
  /// Refused and bad entries of one team, or of all with an empty name; newest first.
  Result<std::vector<MessageRow>> quarantined(std::string_view team, int limit);
  Result<long long> quarantined_count(std::string_view team);

  // chat on its way to the lead; ids that are not in the state a step starts from are left as they are
  /// Queued messages (digest material excepted) whose batch owes no effect that is younger than `grace_before_ms` (or
  /// none at all, with Owed::of_any_age), in the order in which they go: urgent ones first, each with all that its
  /// sender wrote before it, then in arrival order. With `overdue`: only those that no longer wait for an idle lead,
  /// and what their senders wrote before them.
  enum class Owed { of_late, of_any_age };
  struct Overdue {
    EpochMs chat_before_ms = 0;    // chat received at or before this moment is overdue
    EpochMs urgent_before_ms = 0;  // likewise, urgent messages
  };
  Result<std::vector<MessageRow>> offerable(std::string_view team, EpochMs grace_before_ms, int limit,
                                            std::optional<Overdue> overdue = std::nullopt, Owed owed = Owed::of_late);
  Status mark_offered(const std::vector<long long>& ids, std::string_view sink, EpochMs now);
  Status mark_delivered(const std::vector<long long>& ids, EpochMs now,
                        Confirmation confirmed = Confirmation::acknowledged);
  /// Given up: what is queued (or offered) becomes expired.
  Status mark_expired(const std::vector<long long>& ids, EpochMs now);
  /// Queued messages of any priority that were received at or before this moment, in no order.
  Result<std::vector<MessageRow>> queued_before(std::string_view team, EpochMs received_before_ms, int limit);
  /// Everything that waits to be summed up, oldest first.
  Result<std::vector<MessageRow>> digest_material(std::string_view team, int limit);
  /// Everything that is offered, of one team, or of all with an empty name; oldest first.
  Result<std::vector<MessageRow>> offered(std::string_view team);
  /// Back to queued: the sink went away or refused.
  Status requeue(std::string_view team, const std::vector<long long>& ids);
  /// Back to queued, and the offer does not count: nobody was shown it.
  Status unoffer(const std::vector<long long>& ids);
  /// A chat message that was left to another lead becomes ours: queued.
  Status take_over(const schema::MessageKey&);
  /// Everything offered, of all teams: used at start.
  Status requeue_all_offered();
  Result<ChatCounts> chat_counts(std::string_view team);
  /// ChatCounts::queued alone: the others grow with all that was ever delivered.
  Result<long long> queued_count(std::string_view team);
  /// How much of the chat that is queued or offered is whose, by sender.
  Result<std::map<std::string, long long>> waiting_by_sender(std::string_view team);

  // asks
  Result<std::optional<handlers::Request>> request(std::string_view team, handlers::RequestKind, std::string_view id);
  /// Any kind; ids are unique enough in practice that a person names only the id. More than one: all are returned.
  Result<std::vector<std::pair<std::string, handlers::Request>>> requests_by_id(std::string_view id);
  /// Inserts, or moves the ask on. "ledger.final" when handlers::transition knows no way from the recorded state to the
  /// new one, or when asker or content are not those recorded: a decision is made once.
  Status put_request(std::string_view team, const handlers::Request&);
  /// Decided asks, the last decision first; of all teams with an empty name.
  Result<std::vector<std::pair<std::string, handlers::Request>>> decisions(std::string_view team, EpochMs since_ms,
                                                                           int limit);
  Result<std::vector<handlers::Request>> open_requests(std::string_view team);
  Result<std::uint32_t> open_count(std::string_view team, std::string_view asker);
  Result<std::uint32_t> plan_count(std::string_view team, std::string_view asker, std::string_view content_hash);

  // outbox
  Status enqueue(const OutboxRow&);
  /// Rows in state pending whose time has come, oldest first; at most one row per inbox, so that replies keep their
  /// order.
  Result<std::vector<OutboxRow>> due(std::string_view team, EpochMs now, int limit);
  Result<std::vector<OutboxRow>> outbox_of_request(std::string_view team, std::string_view request_id);
  /// Rows whose key starts with `prefix` (for `trace`), at most `limit`.
  Result<std::vector<OutboxRow>> outbox_like(std::string_view prefix, int limit);
  /// Rows written but not yet verified (used at start).
  Result<std::vector<OutboxRow>> written(std::string_view team);
  Status set_effect(long long id, EffectState, int attempts, EpochMs next_ms, std::string_view problem);
  /// Puts those of the rows that were written, finished or given up back to pending, owed from now: the same ask came
  /// again and gets the same bytes again. Rows still pending keep their place and their moment.
  Status resend(std::vector<OutboxRow> rows, EpochMs now);
  Result<long long> owed(std::string_view team);  // pending rows

  /// True when the entry with this key was written by us (or is about to be).
  Result<bool> wrote(const schema::MessageKey&);

  // shutdowns
  /// Inserts, or moves it on. "ledger.final" when handlers::transition knows no way from the recorded state to the new
  /// one, or when it is about another worker or place than recorded: what may be closed or signalled was settled when
  /// we asked. The same state is no move and only brings the other columns up to date.
  Status put_shutdown(std::string_view team, const handlers::Shutdown&);
  Result<std::optional<handlers::Shutdown>> shutdown(std::string_view team, std::string_view request_id);
  /// Those that are still open (handlers::is_open), oldest first.
  Result<std::vector<handlers::Shutdown>> open_shutdowns(std::string_view team);
  /// The newest ones, open or not.
  Result<std::vector<handlers::Shutdown>> shutdowns(std::string_view team, int limit);
  /// Those with this id, each with its team.
  Result<std::vector<std::pair<std::string, handlers::Shutdown>>> shutdowns_by_id(std::string_view request_id);

  // orders
  /// Its id; nothing when the member already had one of this kind and origin.
  Result<std::optional<long long>> add_order(const OrderRow&);
  Status set_order(long long id, std::string_view state, EpochMs at_ms);
  Result<std::vector<OrderRow>> orders(std::string_view team);

  // members, session rules, lead
  Status put_member(const MemberRow&);
  Result<std::vector<MemberRow>> members(std::string_view team);
  /// Its id; that of the one that is there when the session has it already.
  Result<long long> add_rule(const SessionRule&);
  Status remove_rule(long long id);
  Result<std::vector<SessionRule>> rules(std::string_view team);  // of all its sessions
  Status put_lead(std::string_view team, const LeadRow&);
  Result<std::optional<LeadRow>> lead(std::string_view team);
  Status put_roster(std::string_view team, const RosterRow&);
  Result<std::optional<RosterRow>> roster(std::string_view team);

  // the tick counter, and what happened
  Result<long long> next_batch();
  Status note(const HistoryRow&);
  Result<std::vector<HistoryRow>> history_of_message(const schema::MessageKey&);
  Result<std::vector<HistoryRow>> history_of_request(std::string_view team, std::string_view request_id);

  /// Deletes finished rows from before `cutoff`, except messages whose key is in `keep` (still in an inbox) and
  /// anything still owed. An ask or a shutdown stays as long as a message about it, what was sent for it as long as it,
  /// the history of each as long as they; an order as long as its member is in the team. Returns how many messages
  /// went.
  Result<long long> prune(std::string_view team, EpochMs cutoff,
                          const std::function<bool(const schema::MessageKey&)>& keep);

 private:
  Ledger();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inbox_poller::poller

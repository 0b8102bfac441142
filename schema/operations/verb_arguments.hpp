// Requests: what the daemon is asked over its control socket, a record for each verb. A request names its verb, what it
// is about, its fields and the record of its answer; the daemon's function takes it, and whoever asks fills it in. A field
// that is as it is here is left out on the wire (docs/reference/control.md). `team` may be left out where the daemon serves one
// team; `by` is who asks, for the record.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/operations/message.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/shape.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::arguments {

using operations::OneOf;
using operations::RequestKind;
using Strings = std::vector<std::string>;

/// A field that a request cannot do without, and what is said where it is missing.
struct Need {
  std::string_view field, why;
};

// --- looking ---

struct Status {
  static constexpr std::string_view verb = "status";
  static constexpr std::string_view about = "The daemon, and each team that it serves";
  using Answer = operations::Status;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Status, (), (team))

struct Pending {
  static constexpr std::string_view verb = "pending";
  static constexpr std::string_view about = "The open requests, and those of the last hour that were denied because their worker had used the id before";
  using Answer = operations::Pending;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Pending, (), (team))

struct Decisions {
  static constexpr std::string_view verb = "decisions";
  static constexpr std::string_view about = "Who decided what, when and by which rule, the last first";
  using Answer = operations::Decisions;
  std::string team, member;
  long long since_ms = 0, limit = 50;
};
BOOST_DESCRIBE_STRUCT(Decisions, (), (team, member, since_ms, limit))

struct History {
  static constexpr std::string_view verb = "history";
  static constexpr std::string_view about = "The newest messages that fit, the oldest first";
  using Answer = operations::History;
  std::string team, sender, type;
  long long since_ms = 0, limit = 50;
  bool full = false;  // whole texts, and the entries
  std::string key;    // a message key or its beginning; the other conditions do not count then
};
BOOST_DESCRIBE_STRUCT(History, (), (team, sender, type, since_ms, limit, full, key))

struct Trace {
  static constexpr std::string_view verb = "trace";
  static constexpr std::string_view about = "All that the ledger has on a message, a request or a shutdown";
  static constexpr Need need{"id", "`id` must be a message key, the beginning of one, or a request id"};
  using Answer = operations::Trace;
  std::string id;
  RequestKind kind;  // only requests of this kind
};
BOOST_DESCRIBE_STRUCT(Trace, (), (id, kind))

struct Quarantine {
  static constexpr std::string_view verb = "quarantine";
  static constexpr std::string_view about = "What was set aside, and copies of files that could not be read";
  using Answer = operations::Quarantine;
  std::string team;
  long long limit = 200;
};
BOOST_DESCRIBE_STRUCT(Quarantine, (), (team, limit))

struct Shutdowns {
  static constexpr std::string_view verb = "shutdowns";
  static constexpr std::string_view about = "Shutdowns, the newest first";
  using Answer = operations::Shutdowns;
  std::string team, id;
  long long limit = 50;
};
BOOST_DESCRIBE_STRUCT(Shutdowns, (), (team, id, limit))

struct Rules {
  static constexpr std::string_view verb = "rules";
  static constexpr std::string_view about = "The rules that hold in a team: of its configuration, and of this session";
  using Answer = operations::Rules;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Rules, (), (team))

struct DryRun {
  static constexpr std::string_view verb = "dry_run";
  static constexpr std::string_view about = "What the rules would say of a call. Decides nothing, and records nothing";
  using Answer = operations::Trial;
  std::string tool;
  std::string input;  // the text of a JSON object
  std::string host;   // alone
  std::string member, team;
};
BOOST_DESCRIBE_STRUCT(DryRun, (), (tool, input, host, member, team))

struct SuggestRules {
  static constexpr std::string_view verb = "suggest_rules";
  static constexpr std::string_view about = "Rules that would have spared a person approvals";
  using Answer = operations::Suggestions;
  long long since_ms = 0, limit = 2000;  // decisions
  std::string team;
};
BOOST_DESCRIBE_STRUCT(SuggestRules, (), (since_ms, limit, team))

// --- waiting ---

struct Wait {
  static constexpr std::string_view verb = "wait";
  static constexpr std::string_view about = "Answers once a team has come to one of these points, or to `all` of them";
  using Answer = operations::Waited;
  std::vector<OneOf<"idle", "closed", "mail", "answered">> until;
  bool all = false;
  long long wait_ms = 0;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Wait, (), (until, all, wait_ms, team))

struct Changes {
  static constexpr std::string_view verb = "changes";
  static constexpr std::string_view about = "Answers once something of these areas, or of all, has changed since a version";
  using Answer = operations::Changed;
  long long since = 0, wait_ms = 0;
  std::vector<OneOf<"requests", "workers", "chat", "teams", "shutdowns">> of;
};
BOOST_DESCRIBE_STRUCT(Changes, (), (since, wait_ms, of))

// --- answering ---

/// What the answers to requests have in common. An id is a request id, WORKER/ID, the key of the request's message, or
/// the beginning of one.
struct Verdict {
  Strings ids;
  std::string by, team;
  RequestKind kind;
  std::string message_key;  // of the request as it was shown: another one is refused
  bool shown = false;       // the ids are whole, as they were shown
};
BOOST_DESCRIBE_STRUCT(Verdict, (), (ids, by, team, kind, message_key, shown))

struct Approve : Verdict {
  static constexpr std::string_view verb = "approve";
  static constexpr std::string_view about = "Allows open requests";
  static constexpr Need need{"ids", "`ids` must be a list of the requests that are meant"};
  using Answer = operations::Outcomes;
  bool always = false;  // and the same again in this session, by a rule
  std::string mode;     // of a plan: the permission mode to grant
  std::string input;    // JSON; of a permission: what runs instead
  std::string note;     // words to the worker
};
BOOST_DESCRIBE_STRUCT(Approve, (Verdict), (always, mode, input, note))

struct Deny : Verdict {
  static constexpr std::string_view verb = "deny";
  static constexpr std::string_view about = "Refuses open requests";
  static constexpr Need need{"ids", "`ids` must be a list of the requests that are meant"};
  using Answer = operations::Outcomes;
  std::string reason;  // that the worker is told
};
BOOST_DESCRIBE_STRUCT(Deny, (Verdict), (reason))

struct Resolve {
  static constexpr std::string_view verb = "resolve";
  static constexpr std::string_view about = "The open requests that `ids` mean, or those that the rule covers which `always` would make of the one `like` names";
  using Answer = operations::Meant;
  Strings ids;
  std::string like, team;
  RequestKind kind;
};
BOOST_DESCRIBE_STRUCT(Resolve, (), (ids, like, team, kind))

// --- writing to workers ---

struct Send {
  static constexpr std::string_view verb = "send";
  static constexpr std::string_view about = "Writes to a worker";
  static constexpr Need need{"text", "the text to send is missing"};
  using Answer = operations::Sent;
  std::string member, text, summary, team;
};
BOOST_DESCRIBE_STRUCT(Send, (), (member, text, summary, team))

struct Broadcast {
  static constexpr std::string_view verb = "broadcast";
  static constexpr std::string_view about = "Writes to each worker";
  static constexpr Need need{"text", "the text to send is missing"};
  using Answer = operations::Broadcast;
  std::string text, summary, team;
};
BOOST_DESCRIBE_STRUCT(Broadcast, (), (text, summary, team))

struct Shutdown {
  static constexpr std::string_view verb = "shutdown";
  static constexpr std::string_view about = "Asks a worker to end, or all of them";
  using Answer = operations::ShutdownsBegun;
  std::string member;
  bool all = false;
  std::string by, reason;
  std::optional<long long> remind_after_ms;  // 0 is never
  std::optional<long long> force_after_ms;
  bool force = false;  // without asking it
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Shutdown, (), (member, all, by, reason, remind_after_ms, force_after_ms, force, team))

struct Mode {
  static constexpr std::string_view verb = "mode";
  static constexpr std::string_view about = "Sets the permission mode of a worker, or of all";
  using Answer = operations::ModesSent;
  std::string mode, by, member;
  bool all = false;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Mode, (), (mode, by, member, all, team))

struct Assign {
  static constexpr std::string_view verb = "assign";
  static constexpr std::string_view about = "Gives a task of the team's list to a worker";
  using Answer = operations::Assigned;
  std::string task, member, by, team;
};
BOOST_DESCRIBE_STRUCT(Assign, (), (task, member, by, team))

struct Allow {
  static constexpr std::string_view verb = "allow";
  static constexpr std::string_view about = "Adds a rule for this session, and tells the workers";
  using Answer = operations::Allowed;
  std::string rule, directory, by, team;
};
BOOST_DESCRIBE_STRUCT(Allow, (), (rule, directory, by, team))

struct Revoke {
  static constexpr std::string_view verb = "revoke";
  static constexpr std::string_view about = "Takes a rule of this session back";
  using Answer = operations::Revoked;
  std::string rule, by, team;
};
BOOST_DESCRIBE_STRUCT(Revoke, (), (rule, by, team))

// --- the daemon ---

struct Reload {
  static constexpr std::string_view verb = "reload";
  static constexpr std::string_view about = "Reads the configuration again";
  using Answer = operations::Reloaded;
};
BOOST_DESCRIBE_STRUCT(Reload, (), ())

struct Resume {
  static constexpr std::string_view verb = "resume";
  static constexpr std::string_view about = "Serves a paused team again";
  using Answer = operations::Resumed;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Resume, (), (team))

// --- the lead ---

struct Lead {
  static constexpr std::string_view verb = "lead";
  static constexpr std::string_view about = "How the lead is, or what has become of it";
  using Answer = operations::LeadOfTeam;
  OneOf<"busy", "idle", "offline"> state;
  std::string event;      // or one of the events of the lead, as architecture.md lists them
  long long for_ms = 0;   // until when the report holds; 0: as configured
  std::string session, team;
};
BOOST_DESCRIBE_STRUCT(Lead, (), (state, event, for_ms, session, team))

/// A hook's event as it came: the JSON object, or its text.
struct Heard {
  boost::json::value event;
  std::string pane;                         // `%3`
  OneOf<"interactive", "headless"> mode;    // of the client
  std::string client;                       // its version
  bool attended = false;                    // the client says so itself
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Heard, (), (event, pane, mode, client, attended, team))

struct Attach : Heard {
  static constexpr std::string_view verb = "attach";
  static constexpr std::string_view about = "This connection takes the lead's messages, until it closes";
  using Answer = operations::Attached;
  OneOf<"mcp", "stdin", "hook", "channel", "socket"> method;
};
BOOST_DESCRIBE_STRUCT(Attach, (Heard), (method))

struct Recv {
  static constexpr std::string_view verb = "recv";
  static constexpr std::string_view about = "The messages for the lead";
  using Answer = operations::Received;
  std::string team;
  long long max = 20, wait_ms = 0;
  bool ignore_busy = false, hold = false;
  bool block = true;  // the text that a lead session sees
  std::string acked;  // the last key that was taken: it, and what the same taker got before it
};
BOOST_DESCRIBE_STRUCT(Recv, (), (team, max, wait_ms, ignore_busy, hold, block, acked))

struct Ack {
  static constexpr std::string_view verb = "ack";
  static constexpr std::string_view about = "The lead has these messages";
  static constexpr Need need{"keys", "`keys` must be a list of message keys"};
  using Answer = operations::Acknowledged;
  std::optional<Strings> keys;
  bool assumed = false;
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Ack, (), (keys, assumed, team))

struct Evaluate {
  static constexpr std::string_view verb = "evaluate";
  static constexpr std::string_view about = "What the rules, or with `wait` a person, say about a call of the lead's own";
  using Answer = operations::Judgment;
  std::string id, tool;
  std::string input;  // the text of a JSON object
  std::string cwd;
  bool wait = false;
  bool preview = false;  // `input` is only the beginning of what is to run
  std::string team;
};
BOOST_DESCRIBE_STRUCT(Evaluate, (), (id, tool, input, cwd, wait, preview, team))

struct Hook : Heard {
  static constexpr std::string_view verb = "hook";
  static constexpr std::string_view about = "An event of the lead's session, and what its hook is to print";
  using Answer = operations::HookAnswer;
};
BOOST_DESCRIBE_STRUCT(Hook, (Heard), ())

struct Shown {
  static constexpr std::string_view verb = "shown";
  static constexpr std::string_view about = "Whether the hook printed what it was handed over this connection";
  using Answer = Done;
  bool printed = false;
};
BOOST_DESCRIBE_STRUCT(Shown, (), (printed))

struct WorkerCall {
  static constexpr std::string_view verb = "worker_call";
  static constexpr std::string_view about = "A worker's PreToolUse event, and what its hook is to print. Whose it is, is looked up from the process that connected";
  using Answer = operations::WorkerCall;
  std::string event;
  std::string pane;  // `%3`
  std::string team;
};
BOOST_DESCRIBE_STRUCT(WorkerCall, (), (event, pane, team))

struct WorkerTurn {
  static constexpr std::string_view verb = "worker_turn";
  static constexpr std::string_view about = "A worker's Stop event, and the last text of its turn. Answers once it is decided and recorded what the lead gets of the text";
  using Answer = operations::WorkerTurn;
  std::string event;  // without its `last_assistant_message`
  std::string text;
  bool more = false;  // the rest of the text follows over this connection
  std::string pane;   // `%3`
  std::string team;
};
BOOST_DESCRIBE_STRUCT(WorkerTurn, (), (event, text, more, pane, team))

// --- every request ---

/// What stands in each request beside its own fields.
struct Envelope {
  std::string verb, by;
  bool tools = false;  // the lead's own tools ask: what they may say is in the daemon's table of verbs
};
BOOST_DESCRIBE_STRUCT(Envelope, (), (verb, by, tools))

/// A request as the wire has it: `verb`, and each field that is not as it is in `usual`.
boost::json::object on_wire(std::string_view verb, const operations::Shape&, const void* request, const void* usual);

template <class Request>
boost::json::object on_wire(const Request& request) {
  static const Request usual;
  return on_wire(Request::verb, operations::shape_of<Request>(), &request, &usual);
}

/// For the documents and the tests: a row for each verb.
struct Row {
  std::string_view verb, about;
  std::string_view needed;  // the field that it cannot do without, or empty
  const operations::Shape* fields;
  boost::json::object usual;          // each field as it is when it is left out
  const operations::Shape* answer;    // null: nothing but that it was done
};
std::span<const Row> rows();

}  // namespace inbox_poller::arguments

// The vocabulary of decisions: what a handler is shown and what it may answer. Handlers are pure: the same view and the
// same `now_ms` give the same bytes, so a decision can be committed before anything is written anywhere. What it is
// not: a place for I/O, a clock, or anything that remembers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "handlers/answers_count.hpp"
#include "handlers/ask_state.hpp"
#include "handlers/rights.hpp"
#include "schema/ids.hpp"
#include "schema/message.hpp"
#include "schema/payload.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::handlers {

/// Milliseconds since the Unix epoch.
using EpochMs = long long;

/// One ask, as the ledger keeps it. `subject` and `body` are what an approver must see; they come from what will be
/// carried out (tool name and input, host, plan), never from a description that may say something else.
struct Ask {
  AskKind kind = AskKind::permission;
  std::string request_id;
  std::string asker;         // bare member name
  std::string content_hash;  // binds the decision to what was asked
  std::string subject;       // the tool's name; the host; the plan's file path; the worker that wants to stop
  std::string body;          // the tool's input as written; the host as written; the plan's text; why it wants to stop
  std::string description;   // what the asker says about it; shown as a claim
  std::string suggestions;   // permission_suggestions as written; shown, never echoed
  AskState state = AskState::received;
  EpochMs asked_ms = 0;
  // When pending: the moment it is denied. 0: never, somebody else answers (role front, observer, AnswerAuthority).
  EpochMs deadline_ms = 0;
  EpochMs decided_ms = 0;
  std::string decided_by;      // "rule", "deadline", "limit", or Answer::by
  std::string rule;            // the rule's text, or the setting's name, when one decided or asked
  std::string reason;          // a sentence for people; of a denial, the text that the asker was sent
  schema::MessageKey message;  // the inbox entry that asked
};

/// What names an ask within its team. Each worker chooses its ids, so two workers may choose the same one.
struct AskName {
  AskKind kind = AskKind::permission;
  std::string asker;  // bare member name
  std::string request_id;
  auto operator<=>(const AskName&) const = default;
};
inline AskName name_of(const Ask& ask) { return {ask.kind, ask.asker, ask.request_id}; }

/// What is to be put into the inbox of a member. The message is final; putting it there twice is noticed by `key`.
struct Post {
  std::string inbox;
  schema::MessageKey key;
  schema::Message message;
};

/// What a team looks like to a handler while one batch is decided.
struct TeamView {
  const config::TeamConfig& config;
  const schema::Roster& roster;
  std::string_view team;                           // the team's own name, never the configured glob
  std::string_view lead;                           // our own member name
  const config::PermissionRules& rules;            // configuration plus this session's rules
  const config::HostRules& hosts;                  // likewise
  const std::vector<std::string>& former_members;  // were in the roster once, are not now
  std::string_view home;                           // for "~/" rules
  const Membership& standing;                        // what we may do here
};

struct Shutdown;  // handlers/shutdown.hpp

/// What the ledger already knows about the ask, the answer or the report that is being judged.
struct AskView {
  const Ask* same_id = nullptr;    // the one of this name
  std::uint32_t pending_of_asker = 0;  // open asks of this asker
  std::uint32_t same_plan_count = 0;   // earlier plan submissions of this asker with the same content
  const Shutdown* shutdown = nullptr;  // the one that a shutdown answer names
  std::string_view last_state;         // the sender's last WorkerStatus
  std::string_view last_detail;
  AnswerAuthority worth;  // of an ask: whether its asker takes an answer of ours
};

// --- what may come of one message ---

/// Goes to the lead session as a message.
struct ToLead {};

/// Changes what we know about a worker; becomes chat only if configured.
struct WorkerStatus {
  std::string state;   // "idle", "failed", "interrupted", "assigned", "completed"
  std::string detail;  // task, summary or failure, one line
  bool to_lead = false;
  std::string task;         // the task it is about, one line; empty when the message names none
  bool went_wrong = false;  // urgent, when it goes to the lead
  bool in_digest = false;   // summed up with others, when it does not go to the lead by itself
};

/// Not obeyed, not shown to the lead; kept with its bytes and shown to the operator.
struct Refused {
  std::string code;    // stable: "sender.stranger", "sender.own_name", "sender.disagrees", "direction.<type>",
                       // "payload.malformed", "payload.unknown", "request.id_reused", "limit.asks",
                       // "shutdown.never_requested", "shutdown.other_worker", "shutdown.already_answered"
  std::string reason;  // a sentence for people
  std::vector<Post> posts = {};  // what the sender is told in words; no answer to any recorded ask
};

/// A new ask: decided by rule (then with its reply), or pending.
struct Asked {
  Ask request;
  std::vector<Post> posts;
};

/// The same ask once more: the recorded answer is written again, byte for byte; a pending one stays pending.
struct AskedAgain {};

/// A worker answered a shutdown of ours. A rejection is also shown to the lead.
struct ShutdownAnswered {
  std::string request_id;
  bool approved = false;
  std::string answer;  // the worker's words with a rejection
};

using Outcome = std::variant<ToLead, WorkerStatus, Refused, Asked, AskedAgain, ShutdownAnswered>;

/// Whose inbox a message stands in.
enum class Place {
  lead,    // the lead's own
  alias,   // a misspelt name of the lead (team.aliases)
  worker,  // a worker's: read, never marked
};

/// One message on its way through the handlers.
struct Incoming {
  const schema::Message& message;
  const schema::MessageKey& key;
  EpochMs now_ms = 0;
  Place place = Place::lead;
};

// --- what may be answered to a pending ask, by a person or by events ---

struct Answer {
  AskEvent event = AskEvent::person_denies;  // anything but the rules' events
  std::string by;                              // recorded as decided_by: the person's name, or who saw it ("roster")
  std::string reason;                          // the person's words: a denial's text, or a note
  std::string updated_input;                   // permission only: replaces the input; must be a JSON object
  std::optional<config::PermissionMode> mode;  // plan only
};

/// `posts` is empty when nobody waits for a message: withdrawn, answered elsewhere, or the lead's own prompt (its
/// asker is the lead's name). Otherwise the answer, and behind it the person's words as a plain message if the answer
/// has no field for them.
struct Decided {
  Ask request;
  std::vector<Post> posts;
};

/// Why an answer or an order was not taken.
struct NotTaken {
  std::string code;    // "request.already_decided", "request.not_applicable", "answer.misplaced", "answer.not_asked",
                       // "plan.mode_above_ceiling", "permission.bad_input", "role.not_leader", "member.unknown",
                       // "mode.above_ceiling", "worker.verifies"
  std::string reason;  // names the first decision, or what to give instead
};
inline Error error_of(const NotTaken& why) { return {why.code, why.reason}; }

}  // namespace inbox_poller::handlers

// The vocabulary of decisions: the input and the outcomes of a handler. Invariant: handlers are pure, so a decision can
// be committed before anything is written. The same view and `now_ms` give the same bytes. Not for I/O, clocks or
// state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "handlers/answers_count.hpp"
#include "handlers/request_state.hpp"
#include "handlers/rights.hpp"
#include "handlers/worker_report.hpp"
#include "schema/ids.hpp"
#include "schema/message.hpp"
#include "schema/payload.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::handlers {

/// Milliseconds since the Unix epoch.
using EpochMs = long long;

/// One approval request, as in the ledger. `subject` and `body` are what an approver must see. They come from what will
/// run (tool name and input, domain, plan), never from a description.
struct Request {
  RequestKind kind = RequestKind::permission;
  std::string request_id;
  std::string asker;         // bare member name
  std::string content_hash;  // binds the decision to the contents
  std::string subject;       // the tool's name; the domain; the plan's file path; the worker that wants to stop
  std::string body;          // the tool's input or domain as written; the plan's text; why the worker wants to stop
  std::string description;   // the worker's description; shown as a claim
  std::string suggestions;   // permission_suggestions as written; shown, never used
  RequestState state = RequestState::received;
  EpochMs asked_ms = 0;
  EpochMs joined_ms = 0;  // the roster's joinedAt of the asker; 0: unknown
  // When pending: the time of its denial. 0: none, since another answers (role interceptor, observer, AnswerAuthority).
  EpochMs deadline_ms = 0;
  EpochMs decided_ms = 0;
  std::string decided_by;      // "rule", "deadline", "limit", or Answer::by
  std::string rule;            // text of the rule, or name of the setting, that decided or asked
  std::string reason;          // a sentence for people; of a denial, the text that the worker gets
  schema::MessageKey message;  // the inbox entry of the request
};

/// The name of a request within its team. Each worker chooses its ids, so two workers may choose the same one.
struct RequestName {
  RequestKind kind = RequestKind::permission;
  std::string asker;  // bare member name
  std::string request_id;
  auto operator<=>(const RequestName&) const = default;
};
inline RequestName name_of(const Request& request) { return {request.kind, request.asker, request.request_id}; }

/// An outgoing message for a member's inbox. The message is final; `key` reveals a second copy.
struct Post {
  std::string inbox;
  schema::MessageKey key;
  schema::Message message;
};

/// A handler's view of a team while one batch is decided.
struct TeamView {
  const config::TeamConfig& config;
  const schema::Roster& roster;
  std::string_view team;                           // the team's own name, never the configured glob
  std::string_view lead;                           // the lead's member name
  const config::PermissionRules& rules;            // configuration plus this session's rules
  const config::HostRules& hosts;                  // configuration plus this session's rules
  const std::vector<std::string>& former_members;  // in the roster before, not now
  std::string_view home;                           // for "~/" rules
  const Membership& membership;                        // what InboxPoller may do here
};

struct Shutdown;  // handlers/shutdown.hpp

/// Data from the ledger about the request, answer or report that is judged.
struct RequestView {
  const Request* same_id = nullptr;    // the request of this name
  std::uint32_t pending_of_asker = 0;  // open requests of this worker
  std::uint32_t same_plan_count = 0;   // earlier submissions of the same plan text by this worker
  const Shutdown* shutdown = nullptr;  // the shutdown that an answer names
  WorkerReport last_state = WorkerReport::none;  // the sender's last WorkerStatus
  std::string_view last_detail;
  AnswerAuthority authority;  // of a request: whether its worker accepts answers
  std::string_view why_leads;  // of a request: why no rule decides it, by why_leads()
};

// --- outcomes of one message ---

/// Goes to the lead session as a message.
struct ToLead {};

/// Updates a worker's status; goes to the lead only if configured.
struct WorkerStatus {
  WorkerReport state = WorkerReport::idle;
  std::string detail;  // task, summary or failure, one line
  bool to_lead = false;
  std::string task;         // the task of the message, one line; empty if it names none
  bool went_wrong = false;  // urgent if it goes to the lead
  bool in_digest = false;   // summed up with others if it does not go to the lead alone
};

/// Not obeyed and not shown to the lead. Kept with its bytes and shown to the operator.
struct Refused {
  std::string code;    // stable: "sender.stranger", "sender.own_name", "sender.disagrees", "direction.<type>",
                       // "payload.malformed", "payload.unknown", "request.id_reused", "limit.requests",
                       // "shutdown.never_requested", "shutdown.other_worker", "shutdown.already_answered"
  std::string reason;  // a sentence for people
  std::vector<Post> posts = {};  // replies to the sender in words; no answer to any recorded request
};

/// A new request: pending, or decided by rule and then with its reply.
struct Asked {
  Request request;
  std::vector<Post> posts;
};

/// A repeat of a request. A recorded answer is written again, byte for byte; a pending request stays pending.
struct AskedAgain {};

/// A worker's answer to a shutdown. A rejection is also shown to the lead.
struct ShutdownAnswered {
  std::string request_id;
  bool approved = false;
  std::string answer;  // the worker's words with a rejection
};

using Outcome = std::variant<ToLead, WorkerStatus, Refused, Asked, AskedAgain, ShutdownAnswered>;

/// The inbox that contains a message.
enum class Place {
  lead,    // the lead's own
  alias,   // an inbox under a misspelled name of the lead (team.aliases)
  worker,  // a worker's inbox: read, never marked
};

/// One message for the handlers.
struct Incoming {
  const schema::Message& message;
  const schema::MessageKey& key;
  EpochMs now_ms = 0;
  Place place = Place::lead;
  EpochMs joined_ms = 0;  // join time of the sender, as another node told it; 0: that of the roster counts
};

// --- answers to a pending request, by a person or by events ---

struct Answer {
  RequestEvent event = RequestEvent::person_denies;  // any event but the rules'
  std::string by;                              // recorded as decided_by: a person, or the event's source ("roster")
  std::string reason;                          // the person's words: a denial's text, or a note
  std::string updated_input;                   // permission only: replaces the input; must be a JSON object
  std::optional<config::PermissionMode> mode;  // plan only
};

/// `posts` is empty if no worker waits for a message: withdrawn, answered elsewhere, or the lead's own prompt. Else it
/// has the answer (none for an approved request to stop), and a plain message with words that have no field there.
struct Decided {
  Request request;
  std::vector<Post> posts;
};

/// The reason why an answer or an order was not applied.
struct NotTaken {
  std::string code;    // "request.already_decided", "request.not_applicable", "answer.misplaced", "answer.not_asked",
                       // "plan.mode_above_ceiling", "permission.bad_input", "role.not_leader", "member.unknown",
                       // "mode.above_ceiling", "worker.verifies_lead"
  std::string reason;  // names the first decision, or a valid alternative
};
inline Error error_of(const NotTaken& why) { return {why.code, why.reason}; }

}  // namespace inbox_poller::handlers

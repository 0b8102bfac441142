// What is told of requests, and of the answers to them.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

using RequestKind = OneOf<"permission", "sandbox", "plan", "stop">;

struct Request {
  Text team;
  RequestKind kind;
  Text request_id, member;
  Text subject;  // one line; what looks like a secret is masked
  Text tool;     // of a permission
  Text file;     // of a plan
  Text body;     // what an approval approves, as it came
  Text description, suggestions, state;
  long long asked_ms = 0;
  long long deadline_ms = 0;  // 0: not ours to end
  long long decided_ms = 0;
  Text decided_by, rule, reason, message_key;
  // What a command adds with --json.
  std::optional<boost::json::object> input;     // of a permission: the value of `body`
  std::optional<boost::json::array> suggested;  // of a permission: the value of `suggestions`
};
BOOST_DESCRIBE_STRUCT(Request, (), (team, kind, request_id, member, subject, tool, file, body, description, suggestions, state, asked_ms,
                                deadline_ms, decided_ms, decided_by, rule, reason, message_key, input, suggested))

/// A part of a command, and what the rules say of it.
struct RequestPart {
  Text part;
  Text rule;     // that covers it
  Text missing;  // why none does
};
BOOST_DESCRIBE_STRUCT(RequestPart, (), (part, rule, missing))

struct OpenRequest : Request {
  Text folder;  // where it would run; empty: not known
  std::vector<RequestPart> parts;
  Text answers;  // whether you may answer and the asker accepts it: count, verified, presumed verified, not_leader
  Text answers_reason;
  std::optional<Text> short_id;  // what `pending --list` shows
};
BOOST_DESCRIBE_STRUCT(OpenRequest, (Request), (folder, parts, answers, answers_reason, short_id))

/// A request of the last hour that was denied because its worker had used the id before.
struct ReusedId {
  Text team, member, request_id, message_key;
  long long received_ms = 0;
  Text reason;
};
BOOST_DESCRIBE_STRUCT(ReusedId, (), (team, member, request_id, message_key, received_ms, reason))

struct Pending {
  std::vector<OpenRequest> requests;
  std::vector<ReusedId> reused_ids;
};
BOOST_DESCRIBE_STRUCT(Pending, (), (requests, reused_ids))

/// Which requests are meant.
struct Meant {
  std::optional<Text> rule;  // with `like`: the one that covers them
  std::vector<OpenRequest> requests;
};
BOOST_DESCRIBE_STRUCT(Meant, (), (rule, requests))

/// An open request that a rule answered after it had waited.
struct RuledRequest {
  Text team;
  RequestKind kind;
  Text request_id, member, subject, state, rule;
};
BOOST_DESCRIBE_STRUCT(RuledRequest, (), (team, kind, request_id, member, subject, state, rule))

/// What became of one answer. Where it was refused only `ok`, `code`, `message` and `request_id` are certain.
struct Outcome {
  bool ok = false;
  std::optional<Text> code, message;
  std::optional<Text> team;
  std::optional<RequestKind> kind;
  std::optional<Text> request_id, state, member, subject;
  std::optional<Text> rule_added;
};
BOOST_DESCRIBE_STRUCT(Outcome, (), (ok, code, message, team, kind, request_id, state, member, subject, rule_added))

struct Outcomes {
  std::vector<Outcome> answers;
  std::optional<std::vector<RuledRequest>> answered;  // where a rule was added
};
BOOST_DESCRIBE_STRUCT(Outcomes, (), (answers, answered))

struct Decisions {
  std::vector<Request> decisions;
};
BOOST_DESCRIBE_STRUCT(Decisions, (), (decisions))

}  // namespace inbox_poller::operations

// The entry to the handlers: a decoded message gives an outcome, an answer gives a decision. Checks in order: the
// sender is known, payload and envelope name the same sender, and direction.hpp allows the type. Only then the type's
// handler judges.
#pragma once

#include <optional>
#include <variant>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The identity of an approval request in a payload, so that the caller can load what the ledger knows about it.
struct RequestRef {
  RequestKind kind;
  std::string request_id;
  std::string content_hash;
};
std::optional<RequestRef> request_of(const schema::Payload&);

/// Returns the request id of a worker's answer to a shutdown, so that the caller can load that shutdown.
std::optional<std::string> shutdown_of(const schema::Payload&);

/// Judges one message. Total and pure. In the role interceptor, only the rules answer; the rest is left to the lead, without
/// a deadline. An observer answers nothing and records what the rules say. The same holds in every role if the worker
/// would refuse the answer.
Outcome dispatch(const Incoming&, const schema::Payload&, const TeamView&, const RequestView&);

/// Returns why the role leaves requests of this kind to the team's lead, and what to do; empty if a person may answer here.
std::string why_left_to_lead(RequestKind, const TeamView&);

/// Applies an answer to an open request, or returns why not. An observer applies only what other programs did. `worth`:
/// whether the worker accepts answers; if not, the answer is not applied.
std::variant<Decided, NotTaken> decide(const Request&, const Answer&, const TeamView&, EpochMs now_ms,
                                       const AnswerAuthority& authority = {});

}  // namespace inbox_poller::handlers

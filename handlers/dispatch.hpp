// The one door into the handlers: a decoded message in, an outcome out; an answer in, a decision out.
// Order of judgement: is the sender somebody (roster), do payload and envelope agree on who speaks, may this type come
// from that side at all (direction.hpp), and only then the handler of the type.
#pragma once

#include <optional>
#include <variant>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Which ask a payload makes, so that the caller can fetch what is known about it.
struct AskRef {
  AskKind kind;
  std::string request_id;
  std::string content_hash;
};
std::optional<AskRef> request_of(const schema::Payload&);

/// The request id of a worker's answer to a shutdown, so that the caller can fetch that one.
std::optional<std::string> shutdown_of(const schema::Payload&);

/// Total and pure. Beside another lead (role front) only what the rules decide is answered, and whatever they leave
/// open is that lead's, without a deadline of ours; an observer answers nothing, and notes what the rules would have
/// said. So it is in every role with an ask whose asker would refuse our answer.
Outcome dispatch(const Incoming&, const schema::Payload&, const TeamView&, const AskView&);

/// Applies an answer to an open ask, or says why not. As observer only what others did is taken, never an answer; nor
/// is one that its asker would refuse (`worth`: of its answers from us).
std::variant<Decided, NotTaken> decide(const Ask&, const Answer&, const TeamView&, EpochMs now_ms,
                                       const AnswerAuthority& worth = {});

}  // namespace inbox_poller::handlers

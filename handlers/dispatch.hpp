// The one door into the handlers: a decoded message in, an outcome out; an answer in, a decision out.
// Order of judgement: is the sender somebody (roster), do payload and envelope agree on who speaks, may this type come
// from that side at all (direction.hpp), and only then the handler of the type.
#pragma once

#include <optional>
#include <variant>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Which ask a payload makes, so that the caller can fetch what is known about it.
struct RequestRef {
  RequestKind kind;
  std::string request_id;
  std::string content_hash;
};
std::optional<RequestRef> request_of(const schema::Payload&);

/// Total and pure.
Outcome dispatch(const Incoming&, const schema::Payload&, const TeamView&, const RequestView&);

/// Applies an answer to an open ask, or says why not.
std::variant<Decided, NotTaken> decide(const Request&, const Answer&, const TeamView&, EpochMs now_ms);

}  // namespace inbox_poller::handlers

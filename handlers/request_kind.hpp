// The differences between the kinds of approval requests, one table row each. No other code branches on the kind to
// find them. The payload's type selects the functions that read and judge a request. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "handlers/request.hpp"
#include "handlers/rule_kind.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// A rule that an answer adds to the session's rules. The answer says whether the rule allows or denies.
struct NewRule {
  RuleKind kind = RuleKind::permission;  // `permission` or `host`
  std::string text;
};
using RuleOfAnswer = std::variant<std::optional<NewRule>, NotTaken>;

struct RequestTraits {
  RequestKind kind;
  std::string_view type;         // of the request's payload
  std::string_view answer_type;  // of the answer's payload; a denied request to stop is answered in plain chat
  config::Duration (*timeout)(const config::TeamConfig&);
  config::Answerer (*route)(const config::TeamConfig&);  // who answers requests that no rule decides
  std::string (*answer)(const Request& decided, const Grant&);
  std::string_view meaning;                                      // the effect of an approval, for people
  std::string (*card)(const Request&, std::string_view before);  // the whole request, as quoted lines
  RuleOfAnswer (*rule)(const Request&, const Answer&, bool always, const TeamView&);  // null: an answer makes no rule
};
const RequestTraits& traits_of(RequestKind);
/// Returns the kind whose requests, or whose answers, have this payload type; null if none has. Plain chat answers
/// nothing.
const RequestTraits* kind_asked_by(std::string_view type);
const RequestTraits* kind_answered_by(std::string_view type);
/// Returns the verdict of a well-formed answer (true allows); nothing for every other payload.
std::optional<bool> verdict_of(const schema::Payload&);
/// Returns true for payloads that a worker with its lead's key accepts from that lead only.
bool is_from_lead_only(const schema::Payload&);

}  // namespace inbox_poller::handlers

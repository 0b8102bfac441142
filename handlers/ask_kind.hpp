// What the kinds of asks differ in, one line for each: whoever needs one of these asks here, and no code tells the
// kinds apart to find it. How an ask is read and judged is found by its payload's type, in the kind's own file. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "handlers/ask.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// What an answer adds to the rules of the session. Whether it allows or denies is the answer's.
struct NewRule {
  std::string_view kind;  // "permission", "host"
  std::string text;
};
using RuleOfAnswer = std::variant<std::optional<NewRule>, NotTaken>;

struct AskTraits {
  AskKind kind;
  std::string_view type;         // of the payload that asks
  std::string_view answer_type;  // of the one that answers; a declined wish to stop is plain chat
  config::Duration (*timeout)(const config::TeamConfig&);
  config::Answerer (*route)(const config::TeamConfig&);  // who is asked what no rule decides
  std::string (*answer)(const Ask& decided, const Grant&);
  std::string_view meaning;                                      // what approving does, in our words
  std::string (*card)(const Ask&, std::string_view before);  // all of what is asked, as quoted lines
  RuleOfAnswer (*rule)(const Ask&, const Answer&, bool always, const TeamView&);  // null: an answer makes none
};
const AskTraits& traits_of(AskKind);
/// The kind whose asks, or whose answers, are payloads of this type; null when none is. Plain chat answers nothing.
const AskTraits* kind_asked_by(std::string_view type);
const AskTraits* kind_answered_by(std::string_view type);
/// What a well-formed answer says: true allows. Nothing for every other payload.
std::optional<bool> verdict_of(const schema::Payload&);
/// What a worker with its lead's key takes from that lead only.
bool is_from_lead_only(const schema::Payload&);

}  // namespace inbox_poller::handlers

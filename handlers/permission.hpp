// A worker's request to run a tool. Judged by the tool's name and input, which are what will run. The description and
// permission_suggestions are shown to people and never used. The request comes from the worker, or from its client's
// hook before any prompt. Sources: docs/reference/wire.md W17, W25 (PreToolUse).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/request_kind.hpp"

namespace inbox_poller::handlers {

/// Returns the request without worker and times. Its hash covers tool and input, not tool_use_id: a retry is the same
/// request.
Request draft_of(const schema::PermissionRequest&);

config::Verdict judge(const schema::PermissionRequest&, std::string_view asker, const TeamView&, const RequestView&);

/// Returns InboxPoller's id of a request that a hook or the lead makes: "hook-toolu_1". The id is "hook-toolu_1+2" if
/// `from` needs a second one for the call. A decision is final, so another call with the same id, or a repeat after a
/// withdrawal, needs another id.
std::string call_request_id(std::string_view from, std::string_view call, int round);

/// A call that a worker's client is about to make.
struct Call {
  std::string id;  // tool_use_id: the same for the same call
  std::string tool;
  std::string input;  // the bytes of a JSON object
  std::string cwd;    // the session's present directory; the roster has the initial one
  bool planning = false;
};

/// Recorded as the decider of a rule's decision at the hook: no request or answer message exists.
inline constexpr std::string_view by_hook = "hook";

/// Judges a call by the same rules, before any prompt. Returns a decision of an allow or deny rule, or nothing. If the
/// session has left its initial directory, a denial for either directory denies, and no relative path allows. While the
/// session plans, nothing is allowed. `request_id`: the id in the record.
std::optional<Request> judge(const Call&, std::string_view request_id, std::string_view asker, const TeamView&,
                             EpochMs now_ms);

/// Returns the payload of the answer. `input`: what an approval lets run.
std::string permission_answer(const Request& decided, std::string_view input);

/// Returns a tool's input for people, member by member and complete. An edit shows its removed and added lines instead
/// of the two texts. Names follow `before`, values `before_value`.
std::string input_text(std::string_view tool, std::string_view input, std::string_view before,
                       std::string_view before_value);

/// Returns the verdicts on the parts of a command in this directory; empty for every other request.
std::vector<config::PartVerdict> parts_of(const Request&, std::string_view cwd, const TeamView&);
/// Returns one line for each part, which marks the parts that no rule covers; empty for a command of one part.
std::string parts_text(const std::vector<config::PartVerdict>&, std::string_view before);

/// Returns tool and input for people, member by member.
std::string permission_card(const Request&, std::string_view before);
/// Returns the rule for exactly this call if `always` is set; the error "rule.none_safe" if there is none.
RuleOfAnswer permission_rule(const Request&, const Answer&, bool always, const TeamView&);

/// Returns true for bytes that every client reads as the same JSON object. With any other input a client would ignore
/// the answer and wait without end.
bool is_sendable_input(std::string_view input);

}  // namespace inbox_poller::handlers

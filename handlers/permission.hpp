// A worker asks to run a tool. Judged on the tool's name and input, which is what will be carried out; its description
// and its permission_suggestions are shown to people and never used. Either the worker asks its lead, or its client's
// hook asks us before anybody is asked. Sources: docs/reference/wire.md W17, W25 (PreToolUse).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/ask_kind.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times. Its hash covers tool and input, not tool_use_id: a retry is the same ask.
Ask draft_of(const schema::PermissionRequest&);

config::Verdict judge(const schema::PermissionRequest&, std::string_view asker, const TeamView&, const AskView&);

/// Our id of an ask that a hook or the lead makes of a tool call: "hook-toolu_1", and "hook-toolu_1+2" the second time that
/// `from` needs one for it. A decision stands for ever, so another call under the same id, or the same one asked once
/// more after it was withdrawn, is another ask.
std::string call_request_id(std::string_view from, std::string_view call, int round);

/// A call that a worker's client is about to make.
struct Call {
  std::string id;  // tool_use_id: the same call has the same one
  std::string tool;
  std::string input;  // the bytes of a JSON object
  std::string cwd;    // where the session stands now; the roster has where it began
  bool planning = false;
};

/// Who decided what a rule decided there: no message of the worker's asks for it, and none answers it.
inline constexpr std::string_view by_hook = "hook";

/// By the same rules, before anybody is asked: approved or denied by one of them, or nothing, which is everything that
/// no allow or deny rule speaks about. Where the session has left the folder that the roster names, what either
/// denies is denied, and a relative path allows nothing; while it plans nothing is allowed. `request_id`: under which
/// it is recorded.
std::optional<Ask> judge(const Call&, std::string_view request_id, std::string_view asker, const TeamView&,
                             EpochMs now_ms);

/// The payload of the answer; `input` is what an approval lets run.
std::string permission_answer(const Ask& decided, std::string_view input);

/// A tool's input, member by member as it was written: nothing is left out and no value is spelled anew. Of an edit, the
/// lines that go and come in place of the two texts. Names stand behind `before`, values behind `before_value`.
std::string input_text(std::string_view tool, std::string_view input, std::string_view before,
                       std::string_view before_value);

/// What the rules say of each part of a command that is asked about in this folder; empty for everything else.
std::vector<config::PartVerdict> parts_of(const Ask&, std::string_view cwd, const TeamView&);
/// A line each, those marked that no rule covers; nothing for a command of one part.
std::string parts_text(const std::vector<config::PartVerdict>&, std::string_view before);

/// Tool and input, member by member as it was written.
std::string permission_card(const Ask&, std::string_view before);
/// With `--always`: the rule for exactly this call, where there is one.
RuleOfAnswer permission_rule(const Ask&, const Answer&, bool always, const TeamView&);

/// True for bytes that every client reads back as the JSON object that they are. Anything else would make it ignore the
/// answer and wait for ever.
bool is_sendable_input(std::string_view input);

}  // namespace inbox_poller::handlers

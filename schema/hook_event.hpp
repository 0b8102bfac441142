// A hook event of a client, and the answers to it. Source: docs/reference/wire.md W25. Tolerant reader: a field of
// another type counts as absent, and unknown events are kept. The writers give exactly the documented forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/error.hpp"
#include "schema/names.hpp"

namespace inbox_poller::schema {

struct HookEvent {
  std::string name;  // hook_event_name as written
  std::string session_id, cwd;
  std::string prompt_id;             // of the prompt that began the turn; older clients name none
  std::string transcript_path;       // the client's file with the session's conversation
  std::string agent_id, agent_type;  // set inside subagents
  std::string permission_mode;       // default, plan, acceptEdits, …
  std::string prompt;                // UserPromptSubmit
  std::string tool_name, tool_use_id;
  std::string tool_input;         // the bytes of the object; empty if absent or not readable by every strict parser
  std::string source;             // SessionStart: startup, resume, clear, compact, fork
  std::string reason;             // SessionEnd: clear, resume, logout, prompt_input_exit, other
  std::string notification_type;  // Notification: idle_prompt, permission_prompt, …
  std::string teammate_name, team_name, task_id, task_subject;
  std::string last_assistant_message;  // Stop: the last text of the turn as the client shows it
  bool stop_hook_active = false;
};

/// Reads the JSON text of one event. `is_cut`: the text is only the beginning, so only complete fields count.
/// `tool_input` then never counts, because it may be incomplete. Error: "hook.syntax".
Result<HookEvent> decode_hook_event(std::string_view text, bool is_cut = false);

/// Returns the event as JSON, with the known fields that are set.
std::string encode(const HookEvent&);

/// How the client runs: with a person, or for a program (`-p`, an SDK). Shown by its hooks' environment:
/// CLAUDE_CODE_ENTRYPOINT "cli" or "sdk-…" (2.1.50 and later), CLAUDE_CODE_SESSION_ATTENDED "1" or "0" (2.1.329 and
/// later). Source: docs/adr/0021.
BOOST_DEFINE_ENUM_CLASS(ClientMode, interactive, headless, unknown)
inline std::string_view to_string(ClientMode mode) { return schema::name_of(mode); }
ClientMode client_mode(std::string_view entrypoint, std::string_view attended);

/// Returns true for events at which no person waits for the screen: the beginning and the end of a turn or a session.
/// False for all others, including those before and after a tool.
bool may_be_slow(std::string_view event);

/// Returns `additionalContext` for SessionStart, UserPromptSubmit, PostToolUse.
std::string hook_context(std::string_view event, std::string_view context);
/// Returns the answer to Stop with which the turn continues with this text. As context, the model sees the text once.
/// As the reason of a block, the model sees it twice if the client knows the context, otherwise once.
std::string hook_continue(std::string_view text, bool as_context);
/// Returns the approval for PermissionRequest. `input`: the tool's input as requested.
std::string hook_allow(std::string_view input);
std::string hook_deny(std::string_view message);
/// Returns the approval for PreToolUse, which prevents a prompt. The denial's reason reaches the model.
std::string hook_call_allow(std::string_view reason);
std::string hook_call_deny(std::string_view reason);

/// The client cuts strings at 10,000 characters. The limit here is in bytes, which are never fewer.
inline constexpr std::size_t longest_hook_text = 9'500;

/// Returns the text of offered messages for a session: an introduction, then the blocks.
std::string handed_over(std::string_view blocks);
/// Returns the replacement for a message that is too long to be offered.
std::string pointer_to(std::string_view from, std::size_t bytes, std::string_view team);

}  // namespace inbox_poller::schema

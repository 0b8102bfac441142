// What a hook of the lead's client tells, and the answers that it understands. Source: docs/reference/wire.md W25. The reader is tolerant: what a field of another kind says counts as not said, and unknown events are events
// too. The writers give exactly the documented shapes.
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
  std::string transcript_path;       // the file in which the client keeps the session's conversation
  std::string agent_id, agent_type;  // set inside subagents
  std::string permission_mode;       // default, plan, acceptEdits, …
  std::string prompt;                // UserPromptSubmit
  std::string tool_name, tool_use_id;
  std::string tool_input;         // the bytes of the object; empty when absent or not readable by every strict parser
  std::string source;             // SessionStart: startup, resume, clear, compact, fork
  std::string reason;             // SessionEnd: clear, resume, logout, prompt_input_exit, other
  std::string notification_type;  // Notification: idle_prompt, permission_prompt, …
  std::string teammate_name, team_name, task_id, task_subject;
  std::string last_assistant_message;  // Stop: the end of the turn as the client shows it
  bool stop_hook_active = false;
};

/// Reads the JSON text of one event. `is_cut`: the text is only the beginning of it; then the fields that are whole
/// count, and `tool_input` never does, since it may not be all that is asked. Error "hook.syntax".
Result<HookEvent> decode_hook_event(std::string_view text, bool is_cut = false);

/// The same event again, with the fields that we know and that are set.
std::string encode(const HookEvent&);

/// How the client runs: with a person at it, or for a program (`-p`, an SDK). What it sets in its hooks' environment
/// tells: CLAUDE_CODE_ENTRYPOINT "cli" or "sdk-…" (2.1.50 and later), CLAUDE_CODE_SESSION_ATTENDED "1" or "0" (2.1.329
/// and later). Source: docs/adr/0021.
BOOST_DEFINE_ENUM_CLASS(ClientMode, interactive, headless, unknown)
inline std::string_view to_string(ClientMode mode) { return schema::name_of(mode); }
ClientMode client_mode(std::string_view entrypoint, std::string_view attended);

/// True for events at which nobody waits for the screen: the beginning and the end of a turn or a session. False for all
/// others, so also for those before and after a tool.
bool may_be_slow(std::string_view event);

/// `additionalContext` for SessionStart, UserPromptSubmit, PostToolUse.
std::string hook_context(std::string_view event, std::string_view context);
/// Stop: the turn goes on with this text. As context the model sees it once; as the reason of a block, twice with
/// clients that know the context, once with those that do not.
std::string hook_continue(std::string_view text, bool as_context);
/// PermissionRequest. `input` is the tool's input as it was asked.
std::string hook_allow(std::string_view input);
std::string hook_deny(std::string_view message);
/// PreToolUse: runs without anybody being asked, or does not run at all. The reason of the latter reaches the model.
std::string hook_call_allow(std::string_view reason);
std::string hook_call_deny(std::string_view reason);

/// The client cuts strings at 10,000 characters. Counted in bytes here, which are never fewer.
inline constexpr std::size_t longest_hook_text = 9'500;

/// What a session reads when messages are handed to it: a line that says what this is, then the blocks.
std::string handed_over(std::string_view blocks);
/// Instead of a message that is too long to be handed over.
std::string pointer_to(std::string_view from, std::size_t bytes, std::string_view team);

}  // namespace inbox_poller::schema

// What a hook of the lead's client tells, and the answers that it understands. Source: integrations.md C1 (client
// 2.1.240). The reader is tolerant: what a field of another kind says counts as not said, and unknown events are events
// too. The writers give exactly the documented shapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/error.hpp"

namespace inbox_poller::schema {

struct HookEvent {
  std::string name;  // hook_event_name as written
  std::string session_id, cwd;
  std::string agent_id, agent_type;  // set inside subagents
  std::string permission_mode;       // default, plan, acceptEdits, …
  std::string prompt;                // UserPromptSubmit
  std::string tool_name, tool_use_id;
  std::string tool_input;  // the bytes of the object; empty when absent or not readable by every strict parser
  std::string source;      // SessionStart: startup, resume, clear, compact, fork
  std::string reason;      // SessionEnd: clear, resume, logout, prompt_input_exit, other
  std::string teammate_name, team_name, task_id, task_subject;
  bool stop_hook_active = false;
};

/// Reads the JSON text of one event. `is_cut`: the text is only the beginning of it; then the fields that are whole
/// count, and `tool_input` never does, since it may not be all that is asked. Error "hook.syntax".
Result<HookEvent> decode_hook_event(std::string_view text, bool is_cut = false);

/// The same event again, with the fields that we know and that are set.
std::string encode(const HookEvent&);

/// `additionalContext` for SessionStart, UserPromptSubmit, PostToolUse.
std::string hook_context(std::string_view event, std::string_view context);
/// Stop: the turn goes on with this text.
std::string hook_continue(std::string_view reason);
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

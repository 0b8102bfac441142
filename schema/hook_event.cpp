#include "schema/hook_event.hpp"

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::schema {

namespace {

/// Visits each field with its name, in the order of the documentation.
template <typename Event, typename Visit>
void each_text(Event& event, const Visit& visit) {
  visit("session_id", event.session_id);
  visit("prompt_id", event.prompt_id);
  visit("transcript_path", event.transcript_path);
  visit("cwd", event.cwd);
  visit("hook_event_name", event.name);
  visit("agent_id", event.agent_id);
  visit("agent_type", event.agent_type);
  visit("permission_mode", event.permission_mode);
  visit("prompt", event.prompt);
  visit("tool_name", event.tool_name);
  visit("tool_use_id", event.tool_use_id);
  visit("source", event.source);
  visit("reason", event.reason);
  visit("notification_type", event.notification_type);
  visit("teammate_name", event.teammate_name);
  visit("team_name", event.team_name);
  visit("task_id", event.task_id);
  visit("task_subject", event.task_subject);
  visit("last_assistant_message", event.last_assistant_message);
}

std::string specific(std::string_view event, std::string_view rest) {
  return "{\"hookSpecificOutput\":{\"hookEventName\":" + quote(event) + "," + std::string(rest) + "}}";
}

}  // namespace

ClientMode client_mode(std::string_view entrypoint, std::string_view attended) {
  if (attended == "0" || entrypoint.starts_with("sdk")) return ClientMode::headless;
  if (attended == "1" || (attended.empty() && entrypoint == "cli")) return ClientMode::interactive;
  return ClientMode::unknown;
}

bool may_be_slow(std::string_view event) {
  return event == "SessionStart" || event == "UserPromptSubmit" || event == "Stop" || event == "SessionEnd";
}

Result<HookEvent> decode_hook_event(std::string_view text, bool is_cut) {
  const ObjectScan scan = scan_members(text);
  if (scan.problem && !is_cut)
    return Error{"hook.syntax", "the hook's input is not a JSON object: " + scan.problem->what + " at byte " +
                                    std::to_string(scan.problem->offset)};
  HookEvent event;
  each_text(event, [&](std::string_view name, std::string& value) {
    if (const auto token = find_member(text, scan.members, name)) value = decode_string(*token).value_or("");
  });
  if (event.name.empty()) return Error{"hook.syntax", "the hook's input lacks hook_event_name"};
  event.stop_hook_active = find_member(text, scan.members, "stop_hook_active") == "true";
  if (is_cut || scan.problem) return event;
  FieldReader fields(text, scan.members);
  if (auto input = fields.raw("tool_input", JsonKind::object, ""); !fields.problem())
    event.tool_input = std::move(input);
  return event;
}

std::string encode(const HookEvent& event) {
  std::string members;
  each_text(event, [&](std::string_view name, const std::string& value) {
    if (!value.empty()) members += (members.empty() ? "" : ",") + quote(name) + ":" + quote(value);
  });
  if (!event.tool_input.empty()) members += ",\"tool_input\":" + event.tool_input;
  if (event.stop_hook_active) members += ",\"stop_hook_active\":true";
  return "{" + members + "}";
}

std::string hook_context(std::string_view event, std::string_view context) {
  return specific(event, "\"additionalContext\":" + quote(context));
}

std::string hook_continue(std::string_view text, bool as_context) {
  if (as_context) return hook_context("Stop", text);
  return "{\"decision\":\"block\",\"reason\":" + quote(text) + "}";
}

std::string hook_allow(std::string_view input) {
  return specific("PermissionRequest",
                  "\"decision\":{\"behavior\":\"allow\",\"updatedInput\":" + std::string(input) + "}");
}

std::string hook_deny(std::string_view message) {
  return specific("PermissionRequest", "\"decision\":{\"behavior\":\"deny\",\"message\":" + quote(message) + "}");
}

std::string hook_call_allow(std::string_view reason) {
  return specific("PreToolUse", "\"permissionDecision\":\"allow\",\"permissionDecisionReason\":" + quote(reason));
}

std::string hook_call_deny(std::string_view reason) {
  return specific("PreToolUse", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":" + quote(reason));
}

std::string handed_over(std::string_view blocks) {
  return "Messages from your team, delivered by inbox-poller:\n" + std::string(blocks);
}

std::string pointer_to(std::string_view from, std::size_t bytes, std::string_view team) {
  const std::string sender = is_valid_name(from) ? std::string(from) : "an unknown sender";
  return "A message from " + sender + " is waiting. With " + std::to_string(bytes) +
         " bytes it is too long for a hook; this prints it: inbox-poller recv --ignore-busy --team " + shell_word(team);
}

}  // namespace inbox_poller::schema

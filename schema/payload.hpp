// The typed payloads that travel as JSON inside an envelope's `text`: one struct per type, one variant for all of them.
// A new message type is one new struct, one line in `Payload`, and every visitor that the compiler then points at.
// Field comments name the wire spelling where it differs. Source: docs/reference/wire.md W15 to W23.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace inbox_poller::schema {

/// The bytes of a JSON value exactly as the peer wrote them.
using RawJson = std::string;

struct PermissionRequest {
  static constexpr std::string_view type = "permission_request";
  std::string request_id;
  std::string agent_id;  // bare name, or name@team in some builds; the CTRL variant says `from`
  std::string tool_name, tool_use_id, description;
  RawJson input;                   // "{}" when absent
  RawJson permission_suggestions;  // "[]" when absent; shown to people, never echoed
};

struct PermissionResponse {
  static constexpr std::string_view type = "permission_response";
  std::string request_id;
  bool allowed = false;        // wire: subtype "success" / "error"; anything else is malformed
  RawJson updated_input;       // with success; empty when absent
  RawJson permission_updates;  // with success; empty when absent, written as []
  std::string error;           // with error; never empty when we write it
};

struct SandboxPermissionRequest {
  static constexpr std::string_view type = "sandbox_permission_request";
  std::string request_id;
  std::string worker_id;    // name or name@team; may be empty
  std::string worker_name;  // may be empty when worker_id is there
  std::string host;         // from hostPattern.host or hostPattern as a string
};

struct SandboxPermissionResponse {
  static constexpr std::string_view type = "sandbox_permission_response";
  std::string request_id, host;
  bool allow = false;
  std::string timestamp;
};

struct PlanApprovalRequest {
  static constexpr std::string_view type = "plan_approval_request";
  std::string request_id, from, timestamp;
  std::string plan_file_path;  // shown, never opened
  std::string plan_content;    // also accepted as `plan`
};

struct PlanApprovalResponse {
  static constexpr std::string_view type = "plan_approval_response";
  std::string request_id;
  bool approved = false;
  std::string feedback;  // with a rejection
  std::string timestamp;
  std::string permission_mode;  // with an approval; omitted when empty
};

struct ModeSetRequest {
  static constexpr std::string_view type = "mode_set_request";
  std::string mode, from;
};

struct ShutdownRequest {
  static constexpr std::string_view type = "shutdown_request";
  std::string request_id, from;
  std::string reason;  // omitted when empty
  std::string timestamp;
};

struct ShutdownApproved {
  static constexpr std::string_view type = "shutdown_approved";
  std::string request_id, from, timestamp;
  std::string pane_id;       // shown, never acted on
  std::string backend_type;  // shown, never acted on
};

struct ShutdownRejected {
  static constexpr std::string_view type = "shutdown_rejected";
  std::string request_id, from, reason, timestamp;
};

struct TeamPermissionUpdate {
  static constexpr std::string_view type = "team_permission_update";
  RawJson permission_update;
  std::string directory_path, tool_name;
};

struct IdleNotification {
  static constexpr std::string_view type = "idle_notification";
  std::string from, timestamp;
  std::string idle_reason;  // available | interrupted | failed
  std::string summary, completed_task_id, completed_status, failure_reason;
};

struct TaskAssignment {
  static constexpr std::string_view type = "task_assignment";
  std::string task_id, subject, description, assigned_by, timestamp;
};

struct TaskCompleted {
  static constexpr std::string_view type = "task_completed";
  std::string from, task_id, task_subject, timestamp;
};

struct TeammateTerminated {
  static constexpr std::string_view type = "teammate_terminated";
  std::string message;
};

/// Ordinary chat: text that is not an object with a string `type`.
struct PlainText {
  static constexpr std::string_view type = "chat";
};

/// An object with a `type` that nobody taught us.
struct UnknownPayload {
  std::string type;
};

/// A known type whose fields are missing, of the wrong kind, or contradict each other (both spellings, different
/// values).
struct MalformedPayload {
  std::string type;
  std::string problem;  // names the field, what was found, what was expected
};

using Payload = std::variant<PlainText, UnknownPayload, MalformedPayload, PermissionRequest, PermissionResponse,
                             SandboxPermissionRequest, SandboxPermissionResponse, PlanApprovalRequest,
                             PlanApprovalResponse, ModeSetRequest, ShutdownRequest, ShutdownApproved, ShutdownRejected,
                             TeamPermissionUpdate, IdleNotification, TaskAssignment, TaskCompleted, TeammateTerminated>;

/// The wire name of the payload's type; "chat" for PlainText, and the claimed type for unknown and malformed ones.
inline std::string_view type_name(const Payload& payload) {
  return std::visit([](const auto& any) -> std::string_view { return any.type; }, payload);
}

}  // namespace inbox_poller::schema

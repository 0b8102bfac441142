// The typed payloads in a message's `text`: one struct per type, and one variant of all. A new message type needs a
// struct, a line in `Payload`, and every visitor that then fails to compile. Field comments give the wire spelling if
// it differs. Source: docs/reference/wire.md W15 to W23.
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
  RawJson input;                   // "{}" if absent
  RawJson permission_suggestions;  // "[]" if absent; shown to people, never returned
};

struct PermissionResponse {
  static constexpr std::string_view type = "permission_response";
  std::string request_id;
  bool allowed = false;        // wire: subtype "success" / "error"; any other is malformed
  RawJson updated_input;       // with success; empty if absent
  RawJson permission_updates;  // with success; empty if absent, written as []
  std::string error;           // with error; InboxPoller never writes it empty
};

struct SandboxPermissionRequest {
  static constexpr std::string_view type = "sandbox_permission_request";
  std::string request_id;
  std::string worker_id;    // name or name@team; may be empty
  std::string worker_name;  // may be empty if worker_id is present
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
  std::string permission_mode;  // with an approval; omitted if empty
};

struct ModeSetRequest {
  static constexpr std::string_view type = "mode_set_request";
  std::string mode, from;
};

struct ShutdownRequest {
  static constexpr std::string_view type = "shutdown_request";
  std::string request_id, from;
  std::string reason;  // omitted if empty
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

/// Ordinary chat: a text that is not an object with a string `type`.
struct PlainText {
  static constexpr std::string_view type = "chat";
};

/// An object with an unknown `type`.
struct UnknownPayload {
  std::string type;
};

/// A known type with fields that are missing, of the wrong type, or contradictory (both spellings, different values).
struct MalformedPayload {
  std::string type;
  std::string problem;  // the field, the value found, the value expected
};

using Payload = std::variant<PlainText, UnknownPayload, MalformedPayload, PermissionRequest, PermissionResponse,
                             SandboxPermissionRequest, SandboxPermissionResponse, PlanApprovalRequest,
                             PlanApprovalResponse, ModeSetRequest, ShutdownRequest, ShutdownApproved, ShutdownRejected,
                             TeamPermissionUpdate, IdleNotification, TaskAssignment, TaskCompleted, TeammateTerminated>;

/// Returns the wire name of the payload's type: "chat" for PlainText, the claimed type for unknown and malformed ones.
inline std::string_view type_name(const Payload& payload) {
  return std::visit([](const auto& any) -> std::string_view { return any.type; }, payload);
}

}  // namespace inbox_poller::schema

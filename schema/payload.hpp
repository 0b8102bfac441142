// The typed payloads that travel as JSON inside an envelope's `text`: one struct per type, one variant for all of them.
// A new message type is one new struct, one line in `Payload`, and every visitor that the compiler then points at.
// Field comments name the wire spelling where it differs. Source: protocol.md sections A.1, A.2 and 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace inbox_poller::schema {

/// The bytes of a JSON value exactly as the peer wrote them.
using RawJson = std::string;

struct PermissionRequest {
  std::string request_id;
  std::string agent_id;  // bare name, or name@team in some builds; the CTRL variant says `from`
  std::string tool_name;
  std::string tool_use_id;
  std::string description;
  RawJson input;                   // "{}" when absent
  RawJson permission_suggestions;  // "[]" when absent; shown to people, never echoed
};

struct PermissionResponse {
  std::string request_id;
  bool allowed = false;        // wire: subtype "success" / "error"; anything else is malformed
  RawJson updated_input;       // with success; empty when absent
  RawJson permission_updates;  // with success; empty when absent, written as []
  std::string error;           // with error; never empty when we write it
};

struct SandboxPermissionRequest {
  std::string request_id;
  std::string worker_id;    // name or name@team; may be empty
  std::string worker_name;  // may be empty when worker_id is there
  std::string host;         // from hostPattern.host or hostPattern as a string
};

struct SandboxPermissionResponse {
  std::string request_id;
  std::string host;
  bool allow = false;
  std::string timestamp;
};

struct PlanApprovalRequest {
  std::string request_id;
  std::string from;
  std::string timestamp;
  std::string plan_file_path;  // shown, never opened
  std::string plan_content;    // also accepted as `plan`
};

struct PlanApprovalResponse {
  std::string request_id;
  bool approved = false;
  std::string feedback;  // with a rejection
  std::string timestamp;
  std::string permission_mode;  // with an approval; omitted when empty
};

struct ModeSetRequest {
  std::string mode;
  std::string from;
};

struct ShutdownRequest {
  std::string request_id;
  std::string from;
  std::string reason;  // omitted when empty
  std::string timestamp;
};

struct ShutdownApproved {
  std::string request_id;
  std::string from;
  std::string timestamp;
  std::string pane_id;       // shown, never acted on
  std::string backend_type;  // shown, never acted on
};

struct ShutdownRejected {
  std::string request_id;
  std::string from;
  std::string reason;
  std::string timestamp;
};

struct TeamPermissionUpdate {
  RawJson permission_update;
  std::string directory_path;
  std::string tool_name;
};

struct IdleNotification {
  std::string from;
  std::string timestamp;
  std::string idle_reason;  // available | interrupted | failed
  std::string summary;
  std::string completed_task_id;
  std::string completed_status;
  std::string failure_reason;
};

struct TaskAssignment {
  std::string task_id;
  std::string subject;
  std::string description;
  std::string assigned_by;
  std::string timestamp;
};

struct TaskCompleted {
  std::string from;
  std::string task_id;
  std::string task_subject;
  std::string timestamp;
};

struct TeammateTerminated {
  std::string message;
};

/// Ordinary chat: text that is not an object with a string `type`.
struct PlainText {};

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
std::string_view type_name(const Payload&);

}  // namespace inbox_poller::schema

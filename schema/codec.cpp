#include "schema/codec.hpp"

#include <array>

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

Payload permission_request(FieldReader& fields) {
  PermissionRequest request;
  request.request_id = fields.request_id();
  request.agent_id = fields.string({"agentId"});
  const std::string from = fields.string({"from"});
  if (request.agent_id.empty()) request.agent_id = from;
  if (request.agent_id.empty()) fields.fail("agent_id", "expected the name of the asking worker, found nothing");
  if (!from.empty() && bare_name(from) != bare_name(request.agent_id)) {
    fields.fail("agent_id", "names another worker than 'from'");
  }
  request.tool_name = fields.required_string({"toolName"});
  request.tool_use_id = fields.string({"toolUseId"});
  request.description = fields.string({"description"});
  request.input = fields.raw({"input"}, JsonKind::object, "{}");
  request.permission_suggestions = fields.raw({"permissionSuggestions"}, JsonKind::array, "[]");
  return request;
}

Payload permission_response(FieldReader& fields) {
  PermissionResponse response;
  // Not in camelCase and not by `approve`: no worker understands such an answer, so it must not look like one here.
  response.request_id = fields.request_id({"request_id"});
  const std::string subtype = fields.string({"subtype"});
  if (subtype == "success") {
    response.allowed = true;
    const std::string body = fields.raw({"response"}, JsonKind::object, "{}");
    std::vector<MemberSpan> members;
    if (const auto problem = scan_object(body, members)) fields.fail("response", problem->what);
    FieldReader inner(body, members);
    response.updated_input = inner.raw({"updatedInput"}, JsonKind::object, "");
    response.permission_updates = inner.raw({"permissionUpdates"}, JsonKind::array, "");
    if (inner.problem()) fields.fail("response", *inner.problem());
  } else if (subtype == "error") {
    response.error = fields.string({"error"});
    if (response.error.empty())
      fields.fail("error", "expected a text, found nothing; workers do not take this as an answer");
  } else {
    fields.fail("subtype", "expected \"success\" or \"error\"; workers do not take this as an answer");
  }
  return response;
}

Payload sandbox_permission_request(FieldReader& fields) {
  SandboxPermissionRequest request;
  request.request_id = fields.request_id();
  request.worker_id = fields.string({"workerId"});
  request.worker_name = fields.string({"workerName"});
  if (request.worker_id.empty() && request.worker_name.empty()) {
    fields.fail("workerName", "expected the name of the asking worker, found neither it nor 'workerId'");
  }
  const std::string_view pattern = fields.token({"hostPattern"}).value_or("null");
  const auto host = find_member(pattern, "host").value_or(pattern);
  request.host = decode_string(host).value_or("");
  if (request.host.empty()) fields.fail("hostPattern", "expected {\"host\": name} or a name, found no name");
  return request;
}

Payload sandbox_permission_response(FieldReader& fields) {
  return SandboxPermissionResponse{
      .request_id = fields.request_id(),
      .host = fields.string({"host"}),
      .allow = fields.required_boolean({"allow"}),
      .timestamp = fields.string({"timestamp"}),
  };
}

Payload plan_approval_request(FieldReader& fields) {
  return PlanApprovalRequest{
      .request_id = fields.request_id(),
      .from = fields.required_string({"from"}),
      .timestamp = fields.string({"timestamp"}),
      .plan_file_path = fields.string({"planFilePath"}),
      .plan_content = fields.required_string({"planContent", "plan"}),
  };
}

Payload plan_approval_response(FieldReader& fields) {
  return PlanApprovalResponse{
      .request_id = fields.request_id(),
      .approved = fields.required_boolean({"approved", "approve"}),
      .feedback = fields.string({"feedback"}),
      .timestamp = fields.string({"timestamp"}),
      .permission_mode = fields.string({"permissionMode"}),
  };
}

Payload mode_set_request(FieldReader& fields) {
  return ModeSetRequest{
      .mode = fields.required_string({"mode"}),
      .from = fields.string({"from"}),
  };
}

Payload shutdown_request(FieldReader& fields) {
  return ShutdownRequest{
      .request_id = fields.request_id(),
      .from = fields.string({"from"}),
      .reason = fields.string({"reason"}),
      .timestamp = fields.string({"timestamp"}),
  };
}

Payload shutdown_approved(FieldReader& fields) {
  return ShutdownApproved{
      .request_id = fields.request_id(),
      .from = fields.string({"from"}),
      .timestamp = fields.string({"timestamp"}),
      .pane_id = fields.string({"paneId"}),
      .backend_type = fields.string({"backendType"}),
  };
}

Payload shutdown_rejected(FieldReader& fields) {
  return ShutdownRejected{
      .request_id = fields.request_id(),
      .from = fields.string({"from"}),
      .reason = fields.string({"reason"}),
      .timestamp = fields.string({"timestamp"}),
  };
}

/// The JSONL system's one type for both answers.
Payload shutdown_response(FieldReader& fields) {
  return fields.required_boolean({"approve", "approved"}) ? shutdown_approved(fields) : shutdown_rejected(fields);
}

Payload team_permission_update(FieldReader& fields) {
  TeamPermissionUpdate update;
  update.permission_update = fields.raw({"permissionUpdate"}, JsonKind::object, "");
  if (update.permission_update.empty()) fields.fail("permissionUpdate", "expected an object, found nothing");
  update.directory_path = fields.string({"directoryPath"});
  update.tool_name = fields.string({"toolName"});
  return update;
}

Payload idle_notification(FieldReader& fields) {
  return IdleNotification{
      .from = fields.string({"from"}),
      .timestamp = fields.string({"timestamp"}),
      .idle_reason = fields.string({"idleReason"}),
      .summary = fields.string({"summary"}),
      .completed_task_id = fields.string({"completedTaskId"}),
      .completed_status = fields.string({"completedStatus"}),
      .failure_reason = fields.string({"failureReason"}),
  };
}

Payload task_assignment(FieldReader& fields) {
  return TaskAssignment{
      .task_id = fields.required_string({"taskId"}),
      .subject = fields.string({"subject"}),
      .description = fields.string({"description"}),
      .assigned_by = fields.string({"assignedBy"}),
      .timestamp = fields.string({"timestamp"}),
  };
}

Payload task_completed(FieldReader& fields) {
  return TaskCompleted{
      .from = fields.string({"from"}),
      .task_id = fields.required_string({"taskId"}),
      .task_subject = fields.string({"taskSubject"}),
      .timestamp = fields.string({"timestamp"}),
  };
}

Payload teammate_terminated(FieldReader& fields) {
  return TeammateTerminated{fields.string({"message"})};
}

struct Decoder {
  std::string_view type;
  Payload (*decode)(FieldReader&);
};

constexpr std::array decoders = {
    Decoder{"permission_request", permission_request},
    Decoder{"permission_response", permission_response},
    Decoder{"sandbox_permission_request", sandbox_permission_request},
    Decoder{"sandbox_permission_response", sandbox_permission_response},
    Decoder{"plan_approval_request", plan_approval_request},
    Decoder{"plan_approval_response", plan_approval_response},
    Decoder{"mode_set_request", mode_set_request},
    Decoder{"shutdown_request", shutdown_request},
    Decoder{"shutdown_approved", shutdown_approved},
    Decoder{"shutdown_rejected", shutdown_rejected},
    Decoder{"shutdown_response", shutdown_response},
    Decoder{"team_permission_update", team_permission_update},
    Decoder{"idle_notification", idle_notification},
    Decoder{"task_assignment", task_assignment},
    Decoder{"task_completed", task_completed},
    Decoder{"teammate_terminated", teammate_terminated},
};

/// Compact JSON, member by member.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string_view type) { string("type", type); }

  ObjectWriter& raw(std::string_view name, std::string_view token) {
    text_.append(text_ == "{" ? "\"" : ",\"").append(name).append("\":").append(token);
    return *this;
  }
  ObjectWriter& string(std::string_view name, std::string_view value) { return raw(name, quote(value)); }
  ObjectWriter& string_unless_empty(std::string_view name, std::string_view value) {
    return value.empty() ? *this : string(name, value);
  }
  ObjectWriter& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  [[nodiscard]] std::string finish() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace

Payload decode_payload(std::string_view text) {
  std::vector<MemberSpan> members;
  if (scan_object(text, members)) return PlainText{};
  const auto type = decode_string(find_member(text, members, "type").value_or(""));
  if (!type) return PlainText{};
  for (const Decoder& decoder : decoders) {
    if (decoder.type != *type) continue;
    FieldReader fields(text, members);
    Payload payload = decoder.decode(fields);
    if (fields.problem()) return MalformedPayload{*type, *fields.problem()};
    return payload;
  }
  return UnknownPayload{*type};
}

std::string encode(const PermissionResponse& response) {
  ObjectWriter object("permission_response");
  object.string("request_id", response.request_id);
  if (!response.allowed) {
    return object.string("subtype", "error")
        .string("error", response.error.empty() ? "Denied" : response.error)
        .finish();
  }
  std::string body = "{";
  if (!response.updated_input.empty()) body += "\"updated_input\":" + response.updated_input + ",";
  body += "\"permission_updates\":" + (response.permission_updates.empty() ? "[]" : response.permission_updates) + "}";
  return object.string("subtype", "success").raw("response", body).finish();
}

std::string encode(const SandboxPermissionResponse& response) {
  return ObjectWriter("sandbox_permission_response")
      .string("requestId", response.request_id)
      .string("host", response.host)
      .boolean("allow", response.allow)
      .string("timestamp", response.timestamp)
      .finish();
}

std::string encode(const PlanApprovalResponse& response) {
  ObjectWriter object("plan_approval_response");
  object.string("requestId", response.request_id).boolean("approved", response.approved);
  if (!response.approved) object.string_unless_empty("feedback", response.feedback);
  object.string("timestamp", response.timestamp);
  if (response.approved) object.string_unless_empty("permissionMode", response.permission_mode);
  return object.finish();
}

std::string encode(const ModeSetRequest& request) {
  return ObjectWriter("mode_set_request").string("mode", request.mode).string("from", request.from).finish();
}

std::string encode(const ShutdownRequest& request) {
  return ObjectWriter("shutdown_request")
      .string("requestId", request.request_id)
      .string("from", request.from)
      .string_unless_empty("reason", request.reason)
      .string("timestamp", request.timestamp)
      .finish();
}

std::string encode(const TeamPermissionUpdate& update) {
  return ObjectWriter("team_permission_update")
      .raw("permissionUpdate", update.permission_update)
      .string("directoryPath", update.directory_path)
      .string("toolName", update.tool_name)
      .finish();
}

}  // namespace inbox_poller::schema

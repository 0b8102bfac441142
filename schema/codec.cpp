#include "schema/codec.hpp"

#include <array>

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

// One function for each type: the names of its fields, and which are required.

void read(FieldReader& fields, PermissionRequest& request) {
  std::string from;
  request.request_id = fields.request_id();
  fields.strings({{"agentId", request.agent_id}, {"from", from}});
  if (request.agent_id.empty()) request.agent_id = from;
  if (request.agent_id.empty()) fields.fail("agent_id", "expected the name of the asking worker, found nothing");
  if (!from.empty() && bare_name(from) != bare_name(request.agent_id)) {
    fields.fail("agent_id", "names another worker than 'from'");
  }
  request.tool_name = fields.required_string("toolName");
  fields.strings({{"toolUseId", request.tool_use_id}, {"description", request.description}});
  request.input = fields.raw("input", JsonKind::object, "{}");
  const auto suggestions = fields.token("permissionSuggestions").value_or("null");
  const bool is_list = kind_of(suggestions) == JsonKind::array;
  if (!is_list && suggestions != "null") fields.ignore("permissionSuggestions", "an array", suggestions);
  request.permission_suggestions = is_list ? fields.raw("permissionSuggestions", JsonKind::array, "[]") : "[]";
}

void read(FieldReader& fields, PermissionResponse& response) {
  // Not in camelCase and not by `approve`: no worker understands such an answer, so it must not pass for one here.
  response.request_id = fields.request_id("request_id");
  const std::string subtype = fields.string("subtype");
  if (subtype == "success") {
    response.allowed = true;
    const std::string body = fields.raw("response", JsonKind::object, "{}");
    const auto members = scan_object(body);
    if (!members) return fields.fail("response", members.error().message);
    FieldReader inner(body, *members);
    response.updated_input = inner.raw("updatedInput", JsonKind::object, "");
    response.permission_updates = inner.raw("permissionUpdates", JsonKind::array, "");
    if (inner.problem()) fields.fail("response", *inner.problem());
  } else if (subtype == "error") {
    response.error = fields.string("error");
    if (response.error.empty()) {
      fields.fail("error", "expected a text, found nothing; workers do not take this as an answer");
    }
  } else {
    fields.fail("subtype", "expected \"success\" or \"error\"; workers do not take this as an answer");
  }
}

void read(FieldReader& fields, SandboxPermissionRequest& request) {
  request.request_id = fields.request_id();
  fields.strings({{"workerId", request.worker_id}, {"workerName", request.worker_name}});
  if (request.worker_id.empty() && request.worker_name.empty()) {
    fields.fail("workerName", "expected the name of the asking worker, found neither it nor 'workerId'");
  }
  const std::string_view pattern = fields.token("hostPattern").value_or("null");
  request.host = decode_string(find_member(pattern, "host").value_or(pattern)).value_or("");
  if (request.host.empty()) fields.fail("hostPattern", "expected {\"host\": name} or a name, found no name");
}

void read(FieldReader& fields, SandboxPermissionResponse& response) {
  response.request_id = fields.request_id();
  response.allow = fields.required_boolean("allow");
  fields.strings({{"host", response.host}, {"timestamp", response.timestamp}});
}

void read(FieldReader& fields, PlanApprovalRequest& request) {
  request.request_id = fields.request_id();
  request.from = fields.required_string("from");
  request.plan_content = fields.required_string("planContent", "plan");
  fields.strings({{"timestamp", request.timestamp}, {"planFilePath", request.plan_file_path}});
}

void read(FieldReader& fields, PlanApprovalResponse& response) {
  response.request_id = fields.request_id();
  response.approved = fields.required_boolean("approved", "approve");
  fields.strings({{"feedback", response.feedback},
                  {"timestamp", response.timestamp},
                  {"permissionMode", response.permission_mode}});
}

void read(FieldReader& fields, ModeSetRequest& request) {
  request.mode = fields.required_string("mode");
  request.from = fields.string("from");
}

void read(FieldReader& fields, ShutdownRequest& request) {
  request.request_id = fields.request_id();
  fields.strings({{"from", request.from}, {"reason", request.reason}, {"timestamp", request.timestamp}});
}

void read(FieldReader& fields, ShutdownApproved& answer) {
  answer.request_id = fields.request_id();
  fields.strings({{"from", answer.from},
                  {"timestamp", answer.timestamp},
                  {"paneId", answer.pane_id},
                  {"backendType", answer.backend_type}});
}

void read(FieldReader& fields, ShutdownRejected& answer) {
  answer.request_id = fields.request_id();
  fields.strings({{"from", answer.from}, {"reason", answer.reason}, {"timestamp", answer.timestamp}});
}

void read(FieldReader& fields, TeamPermissionUpdate& update) {
  update.permission_update = fields.raw("permissionUpdate", JsonKind::object, "");
  if (update.permission_update.empty()) fields.fail("permissionUpdate", "expected an object, found nothing");
  fields.strings({{"directoryPath", update.directory_path}, {"toolName", update.tool_name}});
}

void read(FieldReader& fields, IdleNotification& idle) {
  fields.strings({{"from", idle.from},
                  {"timestamp", idle.timestamp},
                  {"idleReason", idle.idle_reason},
                  {"summary", idle.summary},
                  {"completedTaskId", idle.completed_task_id},
                  {"completedStatus", idle.completed_status},
                  {"failureReason", idle.failure_reason}});
}

void read(FieldReader& fields, TaskAssignment& task) {
  task.task_id = fields.required_string("taskId");
  fields.strings({{"subject", task.subject},
                  {"description", task.description},
                  {"assignedBy", task.assigned_by},
                  {"timestamp", task.timestamp}});
}

void read(FieldReader& fields, TaskCompleted& task) {
  task.task_id = fields.required_string("taskId");
  fields.strings({{"from", task.from}, {"taskSubject", task.task_subject}, {"timestamp", task.timestamp}});
}

void read(FieldReader& fields, TeammateTerminated& notice) { notice.message = fields.string("message"); }

template <class T>
Payload decoded(FieldReader& fields) {
  T payload;
  read(fields, payload);
  return payload;
}

/// Decodes the single type that the JSONL system has for both answers.
Payload shutdown_response(FieldReader& fields) {
  const bool approved = fields.required_boolean("approve", "approved");
  return approved ? decoded<ShutdownApproved>(fields) : decoded<ShutdownRejected>(fields);
}

struct Decoder {
  std::string_view type;
  Payload (*decode)(FieldReader&);
};

template <class T>
constexpr Decoder decoder{T::type, decoded<T>};

constexpr std::array decoders = {
    decoder<PermissionRequest>,        decoder<PermissionResponse>,
    decoder<SandboxPermissionRequest>, decoder<SandboxPermissionResponse>,
    decoder<PlanApprovalRequest>,      decoder<PlanApprovalResponse>,
    decoder<ModeSetRequest>,           decoder<ShutdownRequest>,
    decoder<ShutdownApproved>,         decoder<ShutdownRejected>,
    decoder<TeamPermissionUpdate>,     decoder<IdleNotification>,
    decoder<TaskAssignment>,           decoder<TaskCompleted>,
    decoder<TeammateTerminated>,       Decoder{"shutdown_response", shutdown_response},
};
static_assert(decoders.size() == std::variant_size_v<Payload> - 3 + 1, "every type but the three that are no type");

struct Field {
  std::string_view name;
  std::string token;
};

/// Returns compact JSON; a field without a token is left out.
std::string object(std::string_view type, std::initializer_list<Field> fields) {
  std::string text = "{\"type\":" + quote(type);
  for (const auto& [name, token] : fields) {
    if (!token.empty()) text.append(",\"").append(name).append("\":").append(token);
  }
  return text + "}";
}

std::string quote_unless_empty(std::string_view value) { return value.empty() ? "" : quote(value); }

std::string boolean(bool value) { return value ? "true" : "false"; }

}  // namespace

Payload decode_payload(std::string_view text, std::string* ignored) {
  if (const auto begin = text.find_first_not_of(" \t\r\n"); begin == std::string_view::npos || text[begin] != '{')
    return PlainText{};  // most often; a scan would describe the fault
  const auto members = scan_object(text);
  if (!members) return PlainText{};
  const auto type = decode_string(find_member(text, *members, "type").value_or(""));
  if (!type) return PlainText{};
  for (const Decoder& decoder : decoders) {
    if (decoder.type != *type) continue;
    FieldReader fields(text, *members);
    Payload payload = decoder.decode(fields);
    if (fields.problem()) return MalformedPayload{*type, *fields.problem()};
    if (ignored != nullptr) *ignored = fields.ignored();
    return payload;
  }
  return UnknownPayload{*type};
}

std::string claimed_request_id(std::string_view text) {
  const auto members = scan_object(text);
  if (!members) return "";
  FieldReader fields(text, *members);
  const std::string id = fields.request_id();
  return fields.problem() ? "" : id;  // contradictory spellings claim nothing
}

std::string encode(const PermissionResponse& response) {
  const std::string id = quote(response.request_id);
  if (!response.allowed) {
    const std::string error = quote(response.error.empty() ? "Denied" : response.error);
    return object(response.type, {{"request_id", id}, {"subtype", "\"error\""}, {"error", error}});
  }
  std::string body = "{";
  if (!response.updated_input.empty()) body += "\"updated_input\":" + response.updated_input + ",";
  body += "\"permission_updates\":" + (response.permission_updates.empty() ? "[]" : response.permission_updates) + "}";
  return object(response.type, {{"request_id", id}, {"subtype", "\"success\""}, {"response", body}});
}

std::string encode(const SandboxPermissionResponse& response) {
  return object(response.type, {{"requestId", quote(response.request_id)},
                                {"host", quote(response.host)},
                                {"allow", boolean(response.allow)},
                                {"timestamp", quote(response.timestamp)}});
}

std::string encode(const PlanApprovalResponse& response) {
  const bool approved = response.approved;
  return object(response.type, {{"requestId", quote(response.request_id)},
                                {"approved", boolean(approved)},
                                {"feedback", approved ? "" : quote_unless_empty(response.feedback)},
                                {"timestamp", quote(response.timestamp)},
                                {"permissionMode", approved ? quote_unless_empty(response.permission_mode) : ""}});
}

std::string encode(const ModeSetRequest& request) {
  return object(request.type, {{"mode", quote(request.mode)}, {"from", quote(request.from)}});
}

std::string encode(const ShutdownRequest& request) {
  return object(request.type, {{"requestId", quote(request.request_id)},
                               {"from", quote(request.from)},
                               {"reason", quote_unless_empty(request.reason)},
                               {"timestamp", quote(request.timestamp)}});
}

std::string encode(const TeamPermissionUpdate& update) {
  return object(update.type, {{"permissionUpdate", update.permission_update},
                              {"directoryPath", quote(update.directory_path)},
                              {"toolName", quote(update.tool_name)}});
}

std::string encode(const TeammateTerminated& notice) {
  return object(notice.type, {{"message", quote(notice.message)}});
}

}  // namespace inbox_poller::schema

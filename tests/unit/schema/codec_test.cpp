#include "schema/codec.hpp"

#include <boost/json.hpp>

#include "tests/support/catch.hpp"

namespace inbox_poller::codec_test {

using namespace inbox_poller::schema;

namespace {

/// The payload as T; fails the test, with the reason, when it is something else.
template <class T>
T decoded(std::string_view text) {
  const Payload payload = decode_payload(text);
  if (const auto* malformed = std::get_if<MalformedPayload>(&payload)) FAIL(malformed->problem);
  CAPTURE(text, type_name(payload));
  REQUIRE(std::holds_alternative<T>(payload));
  return std::get<T>(payload);
}

std::string problem_of(std::string_view text) {
  const Payload payload = decode_payload(text);
  CAPTURE(text, type_name(payload));
  REQUIRE(std::holds_alternative<MalformedPayload>(payload));
  return std::get<MalformedPayload>(payload).problem;
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("text is chat unless it is one JSON object with a string type") {
  for (const char* text :
       {"", "hello", "5", "null", "[]", "\"permission_request\"", "{}", R"({"type":5})", R"({"type":null})",
        R"(x {"type":"permission_request"})", R"({"type":"permission_request"} x)", R"({"type":"permission_request")",
        R"(```{"type":"shutdown_approved"}```)", R"([{"type":"shutdown_approved"}])"}) {
    CAPTURE(text);
    CHECK(type_name(decode_payload(text)) == "chat");
    CHECK(std::holds_alternative<PlainText>(decode_payload(text)));
  }
}

TEST_CASE("a type nobody taught us is kept by its name") {
  CHECK(decoded<UnknownPayload>(R"({"type":"peer_dm_sent","x":1})").type == "peer_dm_sent");
  CHECK(decoded<UnknownPayload>(R"({"type":""})").type.empty());
  CHECK(decoded<UnknownPayload>(R"({"type":"Permission_Request"})").type == "Permission_Request");
}

TEST_CASE("white space around a payload and a pretty-printed payload do not matter") {
  CHECK(decoded<ModeSetRequest>("\n  {\r\n\t\"type\" : \"mode_set_request\" ,\n \"mode\":\"plan\" }\n").mode == "plan");
}

TEST_CASE("of duplicate types and fields the last one counts") {
  CHECK(decoded<ModeSetRequest>(
            R"({"type":"idle_notification","mode":"plan","type":"mode_set_request","mode":"default"})")
            .mode == "default");
}

TEST_CASE("permission_request as clients write it") {
  const auto request = decoded<PermissionRequest>(
      R"({"type":"permission_request","request_id":"perm-1-a","agent_id":"worker-1","tool_name":"Bash","tool_use_id":"toolu_1",)"
      R"("description":"List files","input":{"command":"ls"},"permission_suggestions":[{"type":"setMode"}]})");
  CHECK(request.request_id == "perm-1-a");
  CHECK(request.agent_id == "worker-1");
  CHECK(request.tool_name == "Bash");
  CHECK(request.tool_use_id == "toolu_1");
  CHECK(request.description == "List files");
  CHECK(request.input == R"({"command":"ls"})");
  CHECK(request.permission_suggestions == R"([{"type":"setMode"}])");
}

TEST_CASE("permission_request in camelCase, with `from` for the asker and without input") {
  const auto request = decoded<PermissionRequest>(
      R"({"type":"permission_request","requestId":"perm-456","from":"w1","toolName":"Write","toolUseId":"t","timestamp":"x"})");
  CHECK(request.request_id == "perm-456");
  CHECK(request.agent_id == "w1");
  CHECK(request.tool_name == "Write");
  CHECK(request.tool_use_id == "t");
  CHECK(request.input == "{}");
  CHECK(request.permission_suggestions == "[]");
  const auto null = decoded<PermissionRequest>(
      R"({"type":"permission_request","request_id":"p","agent_id":"a","tool_name":"T","permission_suggestions":null})");
  CHECK(null.permission_suggestions == "[]");
}

TEST_CASE("an asker may be called name or name@team, but not two names") {
  const std::string head = R"({"type":"permission_request","request_id":"p","tool_name":"Bash",)";
  CHECK(decoded<PermissionRequest>(head + R"("agent_id":"w1@team"})").agent_id == "w1@team");
  CHECK(decoded<PermissionRequest>(head + R"("agent_id":"w1@team","from":"w1"})").agent_id == "w1@team");
  CHECK(problem_of(head + R"("agent_id":"w1","from":"w2"})") == "agent_id: names another worker than 'from'");
  CHECK(problem_of(head + R"("x":1})") == "agent_id: expected the name of the asking worker, found nothing");
}

TEST_CASE("a tool's input keeps every byte: big numbers, duplicate keys, spelling, half an emoji") {
  const std::string input =
      R"({ "n":123456789012345678901234567890, "h":1e99999999999,"d":1,"d":2 , "s":"\u00e9\ud83d", "deep":[[[{}]]]})";
  const std::string text =
      R"({"type":"permission_request","request_id":"p","agent_id":"w","tool_name":"T","input":{"first":1},"input":)" +
      input + "}";
  CHECK(decoded<PermissionRequest>(text).input == input);
}

TEST_CASE("an input that is no object, too deep, or not JSON for others is malformed") {
  const auto with = [](const std::string& input) {
    return R"({"type":"permission_request","request_id":"p","agent_id":"w","tool_name":"T","input":)" + input + "}";
  };
  CHECK(problem_of(with("null")) == "input: expected an object, found null");
  CHECK(problem_of(with("[]")) == "input: expected an object, found an array");
  CHECK(problem_of(with("\"ls\"")) == "input: expected an object, found a string");
  CHECK(problem_of(with("{\"a\":\"\x01\"}")) == "input: a raw control character in a string, which is not JSON");
  CHECK(problem_of(with("{\"a\":" + nested(256) + "}")) == "input: nested deeper than 256 levels");
  CHECK(problem_of(with("{\"a\":" + nested(100'000) + "}")) == "input: nested deeper than 256 levels");
  CHECK(decoded<PermissionRequest>(with("{\"a\":" + nested(255) + "}")).input.size() > 255);
  CHECK(decoded<PermissionRequest>(with("{\"a\":\"[[{\\\"\"}")).input == "{\"a\":\"[[{\\\"\"}");
}

TEST_CASE("an optional field of another type counts as absent, and is told") {
  std::string ignored;
  const auto request = decode_payload(
      R"({"type":"permission_request","request_id":"p","agent_id":"w","from":5,"tool_name":"Bash","tool_use_id":1,)"
      R"("description":[],"input":{},"permission_suggestions":"x"})",
      &ignored);
  REQUIRE(std::holds_alternative<PermissionRequest>(request));
  CHECK(std::get<PermissionRequest>(request).permission_suggestions == "[]");
  CHECK(ignored ==
        "from: expected a string, found a number; toolUseId: expected a string, found a number; description: expected a "
        "string, found an array; permissionSuggestions: expected an array, found a string");
  const auto idle = decode_payload(R"({"type":"idle_notification","from":"w","summary":{},"timestamp":7})", &ignored);
  REQUIRE(std::holds_alternative<IdleNotification>(idle));
  CHECK(ignored == "timestamp: expected a string, found a number; summary: expected a string, found an object");
  CHECK(problem_of(R"({"type":"plan_approval_request","requestId":"p","from":5,"plan":"x"})") ==
        "from: expected a string, found a number");
}

TEST_CASE("both spellings of a field must say the same") {
  const std::string rest = R"(,"agent_id":"w","tool_name":"T"})";
  CHECK(decoded<PermissionRequest>(R"({"type":"permission_request","request_id":"p","requestId":"\u0070")" + rest)
            .request_id == "p");
  CHECK(problem_of(R"({"type":"permission_request","request_id":"p","requestId":"q")" + rest) ==
        "requestId: says something else than 'request_id'; one of the two has to go");
  CHECK(problem_of(R"({"type":"plan_approval_response","requestId":"p","approved":true,"approve":false})") ==
        "approved: says something else than 'approve'; one of the two has to go");
  CHECK(problem_of(R"({"type":"plan_approval_request","requestId":"p","from":"w","plan":"a","planContent":"b"})") ==
        "planContent: says something else than 'plan'; one of the two has to go");
  CHECK(
      problem_of(
          R"({"type":"sandbox_permission_request","requestId":"p","workerId":"w","hostPattern":"a","host_pattern":{"host":"a"}})") ==
      "hostPattern: says something else than 'host_pattern'; one of the two has to go");
}

TEST_CASE("a request id we would not echo makes the payload malformed, whatever its type") {
  for (const char* type : {"permission_request", "permission_response", "sandbox_permission_request",
                           "sandbox_permission_response", "plan_approval_request", "plan_approval_response",
                           "shutdown_request", "shutdown_approved", "shutdown_rejected"}) {
    for (const std::string id : {R"("")", R"("a/b")", R"("a\nb")", R"("\ud83d\ude00")", R"(5)", R"(null)", R"({})"}) {
      CAPTURE(type, id);
      const std::string text = std::string("{\"type\":\"") + type + "\",\"request_id\":" + id + "}";
      CHECK(problem_of(text).find("equest") != std::string::npos);
      CHECK(type_name(decode_payload(text)) == type);
    }
    CHECK(problem_of(std::string("{\"type\":\"") + type + "\"}").find("found nothing") != std::string::npos);
  }
  CHECK(problem_of(R"({"type":"shutdown_request","requestId":"a b"})") ==
        "requestId: expected 1 to 256 characters of [A-Za-z0-9@._:+=-], found 3 bytes with others among them");
  CHECK(problem_of(R"({"type":"shutdown_request","requestId":")" + std::string(10'000, 'a') + "\"}") ==
        "requestId: expected 1 to 256 characters of [A-Za-z0-9@._:+=-], found 10000 bytes");
}

TEST_CASE("a permission_response is an answer only in the shape that workers honor") {
  const auto allowed = decoded<PermissionResponse>(
      R"({"type":"permission_response","request_id":"p","subtype":"success","response":{"updated_input":{"a":1},"permission_updates":[2]}})");
  CHECK(allowed.allowed);
  CHECK(allowed.updated_input == R"({"a":1})");
  CHECK(allowed.permission_updates == "[2]");
  CHECK(decoded<PermissionResponse>(R"({"type":"permission_response","request_id":"p","subtype":"success"})").allowed);

  const auto denied =
      decoded<PermissionResponse>(R"({"type":"permission_response","request_id":"p","subtype":"error","error":"no"})");
  CHECK_FALSE(denied.allowed);
  CHECK(denied.error == "no");

  for (
      const char* ignored :
      {R"({"type":"permission_response","request_id":"p","approve":true})",
       R"({"type":"permission_response","request_id":"p","approved":true})",
       R"({"type":"permission_response","request_id":"p","subtype":"allow"})",
       R"({"type":"permission_response","request_id":"p","subtype":"error"})",
       R"({"type":"permission_response","request_id":"p","subtype":"error","error":""})",
       R"({"type":"permission_response","requestId":"p","subtype":"success"})",
       R"({"type":"permission_response","request_id":"p","subtype":"success","response":null})",
       R"({"type":"permission_response","request_id":"p","subtype":"success","response":{"updated_input":null}})",
       R"({"type":"permission_response","request_id":"p","subtype":"success","response":{"permission_updates":null}})"}) {
    CAPTURE(ignored);
    CHECK_FALSE(problem_of(ignored).empty());
  }
}

TEST_CASE("sandbox_permission_request with the host as object or as string, and either name of the worker") {
  const auto request = decoded<SandboxPermissionRequest>(
      R"({"type":"sandbox_permission_request","requestId":"s","workerId":"w@t","workerName":"w","workerColor":"blue",)"
      R"("hostPattern":{"host":"api.example.com"},"createdAt":1775433900000})");
  CHECK(request.request_id == "s");
  CHECK(request.worker_id == "w@t");
  CHECK(request.worker_name == "w");
  CHECK(request.host == "api.example.com");

  const auto snake = decoded<SandboxPermissionRequest>(
      R"({"type":"sandbox_permission_request","request_id":"s","worker_name":"w","host_pattern":"h","timestamp":"t"})");
  CHECK(snake.worker_name == "w");
  CHECK(snake.worker_id.empty());
  CHECK(snake.host == "h");

  const std::string head = R"({"type":"sandbox_permission_request","requestId":"s","workerName":"w")";
  for (const char* tail : {"}", R"(,"hostPattern":""})", R"(,"hostPattern":{}})", R"(,"hostPattern":{"host":5}})",
                           R"(,"hostPattern":null})", R"(,"hostPattern":["h"]})"}) {
    CHECK(problem_of(head + tail) == "hostPattern: expected {\"host\": name} or a name, found no name");
  }
  CHECK(problem_of(R"({"type":"sandbox_permission_request","requestId":"s","hostPattern":"h"})") ==
        "workerName: expected the name of the asking worker, found neither it nor 'workerId'");
}

TEST_CASE("sandbox_permission_response needs a boolean allow") {
  const auto response = decoded<SandboxPermissionResponse>(
      R"({"type":"sandbox_permission_response","requestId":"s","host":"h","allow":true,"timestamp":"t"})");
  CHECK(response.allow);
  CHECK(response.host == "h");
  CHECK(response.timestamp == "t");
  CHECK(problem_of(R"({"type":"sandbox_permission_response","requestId":"s","host":"h"})") ==
        "allow: expected true or false, found nothing");
  CHECK(problem_of(R"({"type":"sandbox_permission_response","requestId":"s","host":"h","allow":"true"})") ==
        "allow: expected a boolean, found a string");
}

TEST_CASE("plan_approval_request with planContent or plan") {
  const auto request = decoded<PlanApprovalRequest>(
      R"({"type":"plan_approval_request","from":"w","timestamp":"t","planFilePath":"/p","planContent":"# Plan\n","requestId":"a@b@c"})");
  CHECK(request.from == "w");
  CHECK(request.timestamp == "t");
  CHECK(request.plan_file_path == "/p");
  CHECK(request.plan_content == "# Plan\n");
  CHECK(request.request_id == "a@b@c");
  CHECK(decoded<PlanApprovalRequest>(R"({"type":"plan_approval_request","from":"w","plan":"x","request_id":"a"})")
            .plan_content == "x");
  CHECK(problem_of(R"({"type":"plan_approval_request","from":"w","requestId":"a"})") ==
        "planContent: expected a string, found nothing");
}

TEST_CASE("plan_approval_response with approved or approve") {
  const auto approved = decoded<PlanApprovalResponse>(
      R"({"type":"plan_approval_response","requestId":"a","approved":true,"timestamp":"t","permissionMode":"acceptEdits"})");
  CHECK(approved.approved);
  CHECK(approved.permission_mode == "acceptEdits");
  CHECK(approved.timestamp == "t");
  const auto rejected = decoded<PlanApprovalResponse>(
      R"({"type":"plan_approval_response","request_id":"a","approve":false,"feedback":"more"})");
  CHECK_FALSE(rejected.approved);
  CHECK(rejected.feedback == "more");
  CHECK(problem_of(R"({"type":"plan_approval_response","requestId":"a","plan":"x"})") ==
        "approved: expected true or false, found nothing");
}

TEST_CASE("shutdown: the request, both answers, and the JSONL system's one type for them") {
  const auto request = decoded<ShutdownRequest>(
      R"({"type":"shutdown_request","requestId":"s@w","from":"team-lead","reason":"done","timestamp":"t"})");
  CHECK(request.request_id == "s@w");
  CHECK(request.from == "team-lead");
  CHECK(request.reason == "done");
  CHECK(request.timestamp == "t");
  const auto approved = decoded<ShutdownApproved>(
      R"({"type":"shutdown_approved","request_id":"s","from":"w","timestamp":"t","paneId":"%18","backendType":"tmux"})");
  CHECK(approved.from == "w");
  CHECK(approved.pane_id == "%18");
  CHECK(approved.backend_type == "tmux");
  const auto rejected = decoded<ShutdownRejected>(
      R"({"type":"shutdown_rejected","requestId":"s","from":"w","reason":"busy","timestamp":"t"})");
  CHECK(rejected.reason == "busy");
  CHECK(rejected.timestamp == "t");
  CHECK(decoded<ShutdownApproved>(R"({"type":"shutdown_response","request_id":"s","approve":true})").request_id == "s");
  CHECK(decoded<ShutdownRejected>(R"({"type":"shutdown_response","requestId":"s","approved":false,"reason":"no"})")
            .reason == "no");
  CHECK(problem_of(R"({"type":"shutdown_response","requestId":"s"})") ==
        "approve: expected true or false, found nothing");
}

TEST_CASE("mode_set_request and team_permission_update") {
  const auto mode = decoded<ModeSetRequest>(R"({"type":"mode_set_request","mode":"plan","from":"team-lead"})");
  CHECK(mode.mode == "plan");
  CHECK(mode.from == "team-lead");
  CHECK(problem_of(R"({"type":"mode_set_request"})") == "mode: expected a string, found nothing");
  const auto update = decoded<TeamPermissionUpdate>(
      R"({"type":"team_permission_update","permissionUpdate":{ "rules":[] },"directoryPath":"/r","toolName":"Edit"})");
  CHECK(update.permission_update == R"({ "rules":[] })");
  CHECK(update.directory_path == "/r");
  CHECK(update.tool_name == "Edit");
  CHECK(problem_of(R"({"type":"team_permission_update"})") == "permissionUpdate: expected an object, found nothing");
}

TEST_CASE("the status messages") {
  const auto idle = decoded<IdleNotification>(
      R"({"type":"idle_notification","from":"w","timestamp":"t","idleReason":"failed","summary":"[to x] y",)"
      R"("completedTaskId":"1","completedStatus":"blocked","failureReason":"api","result":"r"})");
  CHECK(idle.from == "w");
  CHECK(idle.timestamp == "t");
  CHECK(idle.idle_reason == "failed");
  CHECK(idle.summary == "[to x] y");
  CHECK(idle.completed_task_id == "1");
  CHECK(idle.completed_status == "blocked");
  CHECK(idle.failure_reason == "api");
  const auto assigned = decoded<TaskAssignment>(
      R"({"type":"task_assignment","taskId":"1","subject":"s","description":"d","assignedBy":"w","timestamp":"t"})");
  CHECK(assigned.task_id == "1");
  CHECK(assigned.subject == "s");
  CHECK(assigned.description == "d");
  CHECK(assigned.assigned_by == "w");
  CHECK(assigned.timestamp == "t");
  const auto completed =
      decoded<TaskCompleted>(R"({"type":"task_completed","from":"w","task_id":"7","taskSubject":"s","timestamp":"t"})");
  CHECK(completed.task_id == "7");
  CHECK(completed.task_subject == "s");
  CHECK(completed.from == "w");
  CHECK(decoded<TeammateTerminated>(R"({"type":"teammate_terminated","message":"gone"})").message == "gone");
}

TEST_CASE("type_name gives the wire name of every type it knows") {
  for (const char* text :
       {R"({"type":"permission_request","request_id":"p","agent_id":"w","tool_name":"T"})",
        R"({"type":"permission_response","request_id":"p","subtype":"success"})",
        R"({"type":"sandbox_permission_request","requestId":"p","workerId":"w","hostPattern":"h"})",
        R"({"type":"sandbox_permission_response","requestId":"p","allow":false})",
        R"({"type":"plan_approval_request","requestId":"p","from":"w","plan":""})",
        R"({"type":"plan_approval_response","requestId":"p","approved":true})",
        R"({"type":"mode_set_request","mode":"plan"})", R"({"type":"shutdown_request","requestId":"p"})",
        R"({"type":"shutdown_approved","requestId":"p"})", R"({"type":"shutdown_rejected","requestId":"p"})",
        R"({"type":"team_permission_update","permissionUpdate":{}})", R"({"type":"idle_notification"})",
        R"({"type":"task_assignment","taskId":"1"})", R"({"type":"task_completed","taskId":"1"})",
        R"({"type":"teammate_terminated"})"}) {
    const Payload payload = decode_payload(text);
    CAPTURE(text);
    CHECK_FALSE(std::holds_alternative<MalformedPayload>(payload));
    CHECK_FALSE(std::holds_alternative<UnknownPayload>(payload));
    CHECK(type_name(payload) == boost::json::parse(text).at("type").as_string());
  }
}

TEST_CASE("what we write is byte for byte what both client versions honor") {
  CHECK(
      encode(PermissionResponse{"perm-1-a", true, R"({"command":"ls"})", "", ""}) ==
      R"({"type":"permission_response","request_id":"perm-1-a","subtype":"success","response":{"updated_input":{"command":"ls"},"permission_updates":[]}})");
  CHECK(
      encode(PermissionResponse{"perm-1-a", true, "", R"([{"type":"addRules"}])", "unused"}) ==
      R"({"type":"permission_response","request_id":"perm-1-a","subtype":"success","response":{"permission_updates":[{"type":"addRules"}]}})");
  CHECK(encode(PermissionResponse{"perm-1-a", false, "{}", "[]", "Denied by \"rule\""}) ==
        R"({"type":"permission_response","request_id":"perm-1-a","subtype":"error","error":"Denied by \"rule\""})");
  CHECK(encode(PermissionResponse{"perm-1-a", false, "", "", ""}) ==
        R"({"type":"permission_response","request_id":"perm-1-a","subtype":"error","error":"Denied"})");
  CHECK(
      encode(SandboxPermissionResponse{"sandbox-1-a", "api.example.com", true, "2026-04-06T00:06:00.000Z"}) ==
      R"({"type":"sandbox_permission_response","requestId":"sandbox-1-a","host":"api.example.com","allow":true,"timestamp":"2026-04-06T00:06:00.000Z"})");
  CHECK(
      encode(PlanApprovalResponse{"p@a@t", true, "unused", "t", "default"}) ==
      R"({"type":"plan_approval_response","requestId":"p@a@t","approved":true,"timestamp":"t","permissionMode":"default"})");
  CHECK(encode(PlanApprovalResponse{"p@a@t", true, "", "t", ""}) ==
        R"({"type":"plan_approval_response","requestId":"p@a@t","approved":true,"timestamp":"t"})");
  CHECK(
      encode(PlanApprovalResponse{"p@a@t", false, "more tests", "t", "acceptEdits"}) ==
      R"({"type":"plan_approval_response","requestId":"p@a@t","approved":false,"feedback":"more tests","timestamp":"t"})");
  CHECK(encode(ModeSetRequest{"acceptEdits", "team-lead"}) ==
        R"({"type":"mode_set_request","mode":"acceptEdits","from":"team-lead"})");
  CHECK(encode(ShutdownRequest{"s@w", "team-lead", "done", "t"}) ==
        R"({"type":"shutdown_request","requestId":"s@w","from":"team-lead","reason":"done","timestamp":"t"})");
  CHECK(encode(ShutdownRequest{"s@w", "team-lead", "", "t"}) ==
        R"({"type":"shutdown_request","requestId":"s@w","from":"team-lead","timestamp":"t"})");
  CHECK(
      encode(TeamPermissionUpdate{R"({"type":"addRules"})", "/repo", "Edit"}) ==
      R"({"type":"team_permission_update","permissionUpdate":{"type":"addRules"},"directoryPath":"/repo","toolName":"Edit"})");
  CHECK(encode(TeammateTerminated{"mason \"left\""}) == R"({"type":"teammate_terminated","message":"mason \"left\""})");
}

TEST_CASE("a message that cannot be read may still say which request it is about") {
  CHECK(claimed_request_id(R"({"type":"permission_response","requestId":"p-1","approved":true})") == "p-1");
  CHECK(claimed_request_id(R"({"type":"plan_approval_response","request_id":"p-1"})") == "p-1");
  CHECK(claimed_request_id(R"({"requestId":"p-1","request_id":"p-1"})") == "p-1");
  for (const char* text : {"", "approved", "[]", "{}", R"({"requestId":7})", R"({"requestId":null})",
                           R"({"requestId":"../x"})", R"({"requestId":"p-1","request_id":"p-2"})"}) {
    CAPTURE(text);
    CHECK(claimed_request_id(text).empty());
  }
}

TEST_CASE("what we write, we read back the same") {
  const auto permission =
      decoded<PermissionResponse>(encode(PermissionResponse{"p", true, R"({"n":1e400})", "[1]", ""}));
  CHECK(permission.updated_input == R"({"n":1e400})");
  CHECK(permission.permission_updates == "[1]");
  const auto sandbox = decoded<SandboxPermissionResponse>(encode(SandboxPermissionResponse{"s", "h\"\n", false, "t"}));
  CHECK(sandbox.host == "h\"\n");
  CHECK_FALSE(sandbox.allow);
  CHECK(decoded<PlanApprovalResponse>(encode(PlanApprovalResponse{"p", false, "é\n", "t", ""})).feedback == "é\n");
  CHECK(decoded<ShutdownRequest>(encode(ShutdownRequest{"s", "l", "r", "t"})).reason == "r");
  CHECK(decoded<ModeSetRequest>(encode(ModeSetRequest{"plan", "l"})).mode == "plan");
  CHECK(decoded<TeammateTerminated>(encode(TeammateTerminated{"gone\n"})).message == "gone\n");
  CHECK(decoded<TeamPermissionUpdate>(encode(TeamPermissionUpdate{"{}", "/r", "T"})).tool_name == "T");
}

TEST_CASE("no field of a known type can crash the decoder, whatever is in it") {
  const std::vector<std::string> values = {"null", "true", "5",      "\"\"",    "\"\\ud83d\"",
                                           "[]",   "{}",   "[[[]]]", "\"\x01\""};
  for (const char* type :
       {"permission_request", "permission_response", "sandbox_permission_request", "sandbox_permission_response",
        "plan_approval_request", "plan_approval_response", "mode_set_request", "shutdown_request", "shutdown_approved",
        "shutdown_rejected", "shutdown_response", "team_permission_update", "idle_notification", "task_assignment",
        "task_completed", "teammate_terminated"}) {
    for (const char* field : {"request_id", "agent_id", "tool_name", "input",     "permission_suggestions",
                              "subtype",    "response", "error",     "workerId",  "hostPattern",
                              "allow",      "approve",  "approved",  "plan",      "planContent",
                              "mode",       "from",     "reason",    "timestamp", "permissionUpdate",
                              "taskId",     "message",  "summary",   "__proto__"}) {
      for (const std::string& value : values) {
        const std::string text =
            std::string("{\"type\":\"") + type + "\",\"request_id\":\"p\",\"" + field + "\":" + value + "}";
        const Payload payload = decode_payload(text);
        CAPTURE(text);
        CHECK_FALSE(std::holds_alternative<PlainText>(payload));
        CHECK_FALSE(std::holds_alternative<UnknownPayload>(payload));
      }
    }
  }
}

}  // namespace inbox_poller::codec_test

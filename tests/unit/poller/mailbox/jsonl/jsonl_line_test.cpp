#include "poller/mailbox/jsonl/line.hpp"

#include "poller/mailbox/float_seconds.hpp"
#include "schema/codec.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::jsonl_line_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::schema;

namespace {

Message message(const std::string& text) { return {"lead", text, "", "2026-02-07T15:20:46.348Z", "", "an-id"}; }

Message decoded(std::string_view line) {
  const auto entry = decode_jsonl(line);
  INFO(line);
  REQUIRE(entry.ok());
  return entry->message;
}

template <class T>
T payload(std::string_view line) {
  const auto found = decode_payload(decoded(line).text);
  REQUIRE(std::holds_alternative<T>(found));
  return std::get<T>(found);
}

std::string code(std::string_view line) {
  const auto entry = decode_jsonl(line);
  return entry ? "" : entry.error().code;
}

}  // namespace

TEST_CASE("a line of the first generation is chat of whoever sent it") {
  const auto entry = decode_jsonl(R"({"type": "message", "from": "alice", "content": "done", "timestamp": 1771234567.123456})");
  REQUIRE(entry.ok());
  CHECK(entry->message.from == "alice");
  CHECK(entry->message.text == "done");
  CHECK(entry->message.timestamp == "2026-02-16T09:36:07.123456Z");
  CHECK(entry->says_all);
}

TEST_CASE("spellings of other programs are read: ts, ISO times, ids, metadata, raw UTF-8, a text that is no text") {
  CHECK(decoded(R"({"from":"a","to":"lead","content":"é ☃","type":"message","ts":1771234567,"metadata":{}})").text == "é ☃");
  CHECK(decoded(R"({"from":"a","content":"x","ts":1771234567})").timestamp == "2026-02-16T09:36:07.000Z");
  CHECK(decoded(R"({"from":"a","content":"x","timestamp":"2026-02-16T09:36:07"})").timestamp == "2026-02-16T09:36:07");
  CHECK(decoded(R"({"from":"a","content":"x","timestamp":1e300})").timestamp == "1e300");
  CHECK(decoded(R"({"from":"a","content":"x","id":"7"})").id == "7");
  CHECK(decoded(R"({"from":"a","content":["x",1]})").text == R"(["x",1])");
  CHECK(decoded("{\"from\":\"a\",\"content\":\"cut \xE2\x80\xA8 here\"}\r").text == "cut \u2028 here");
  CHECK(decoded(R"({"from":"a","content":"half \ud83d"})").text == "half \xEF\xBF\xBD");
}

TEST_CASE("a type, an id or a time of another type counts as absent, and is told") {
  const auto entry = decode_jsonl(R"({"type":5,"from":"a","content":"x","id":[],"timestamp":{},"ts":true})");
  REQUIRE(entry.ok());
  CHECK(entry->message == Message{"a", "x", "", "", "", ""});
  CHECK(entry->ignored ==
        "id: expected a string or a number, found an array; timestamp: expected seconds or a string, found an object; ts: "
        "expected seconds or a string, found a boolean; type: expected a string, found a number");
  CHECK_FALSE(entry->says_all);
  CHECK(decoded(R"({"from":"a","content":"x","id":7})").id == "7");
}

TEST_CASE("what a message does not say is told") {
  const auto says_all = [](std::string_view line) { return decode_jsonl(line)->says_all; };
  CHECK(says_all(R"({"type": "message", "from": "a", "content": "x", "timestamp": 1771234567.12})"));
  CHECK(says_all(R"({"type": "message", "from": "a", "content": "x", "timestamp": 1771234567.0})"));
  CHECK_FALSE(says_all(R"({"type": "message", "from": "a", "content": "x", "timestamp": 1771234567})"));
  CHECK_FALSE(says_all(R"({"type": "message", "from": "a", "content": "x", "timestamp": 1771234567.120})"));
  CHECK_FALSE(says_all(R"({"type": "message", "from": "a", "content": "x", "timestamp": 1771234567.12, "mood": 1})"));
  CHECK_FALSE(says_all(R"({"type": "broadcast", "from": "a", "content": "x", "timestamp": 1771234567.12})"));
  CHECK_FALSE(says_all(R"({"type": "message", "from": "a", "content": "\ud83d", "timestamp": 1771234567.12})"));
}

TEST_CASE("seconds are told of a time that is spelled as we spell it, and of no other") {
  CHECK(poller::seconds_of_timestamp("2026-02-16T09:36:07.120Z") == "1771234567.12");
  CHECK(poller::seconds_of_timestamp("2026-02-16T09:36:07.000Z") == "1771234567.0");
  for (const std::string_view other :
       {"", "Z", "2026-02-16T09:36:07Z", "2026-02-16T09:36:07.120", "2026-2-016T09:36:07.120Z", "2026-02-30T09:36:07.120Z",
        "2026-02-16 09:36:07.120Z", " 026-02-16T09:36:07.120Z", "2026-02-16T09:36:+7.120Z", "2026-02-16T09:36:07.+20Z"})
    CHECK(poller::seconds_of_timestamp(other) == "0.0");
}

TEST_CASE("a plan is submitted in the spelling of each generation") {
  for (const std::string line :
       {R"({"type":"plan_approval_response","from":"bob","content":"c","timestamp":1.5,"request_id":"1a2b3c4d","plan":"the plan"})",
        R"({"type":"plan_approval","from":"bob","content":"c","timestamp":1.5,"request_id":"1a2b3c4d","plan":"the plan"})",
        R"({"from":"bob","to":"lead","content":"the plan","type":"plan_approval_request","ts":1.5,"metadata":{"request_id":"1a2b3c4d"}})"}) {
    const auto request = payload<PlanApprovalRequest>(line);
    CHECK(request.request_id == "1a2b3c4d");
    CHECK(request.from == "bob");
    CHECK(request.plan_content == "the plan");
    CHECK(request.timestamp == "1970-01-01T00:00:01.500Z");
    CHECK_FALSE(decode_jsonl(line)->says_all);
  }
}

TEST_CASE("a plan without an id that could be answered to is malformed, and shown as that") {
  CHECK(payload<MalformedPayload>(R"({"type":"plan_approval","from":"bob","plan":"p"})").type == "plan_approval_request");
  CHECK(payload<MalformedPayload>(R"({"type":"plan_approval","from":"bob","plan":"p","request_id":"a b"})").type ==
        "plan_approval_request");
}

TEST_CASE("a worker's verdict on a plan is what the lead's inbox never takes") {
  CHECK_FALSE(payload<PlanApprovalResponse>(
                  R"({"type":"plan_approval_response","from":"bob","content":"","request_id":"1","approve":false,"plan":"p"})")
                  .approved);
}

TEST_CASE("an answer to our request to shut down has its reason in the content") {
  const auto yes = payload<ShutdownApproved>(
      R"({"type":"shutdown_response","from":"bob","content":"bye","timestamp":1.0,"request_id":"1a2b3c4d","approve":true})");
  CHECK(yes.request_id == "1a2b3c4d");
  CHECK(yes.from == "bob");
  const auto no = payload<ShutdownRejected>(
      R"({"from":"bob","to":"lead","content":"busy","type":"shutdown_response","ts":1,"metadata":{"request_id":"req_000001","approve":false}})");
  CHECK(no.request_id == "req_000001");
  CHECK(no.reason == "busy");
  CHECK(payload<MalformedPayload>(R"({"type":"shutdown_response","from":"bob","request_id":"1"})").type == "shutdown_response");
}

TEST_CASE("errors and idle workers of the last generation are states") {
  CHECK(payload<IdleNotification>(R"({"type":"error","from":"bob","content":"broke"})").failure_reason == "broke");
  CHECK(payload<IdleNotification>(R"({"type":"idle_notification","from":"bob","content":"free"})").idle_reason == "available");
  CHECK(decoded(R"({"type":"result","from":"bob","content":"42"})").text == "42");
}

TEST_CASE("chat that another system would obey is chat here") {
  const auto text = decoded(R"({"type":"message","from":"bob","content":"{\"type\":\"permission_request\"}"})").text;
  CHECK(text == R"(message: {"type":"permission_request"})");
  CHECK(std::holds_alternative<PlainText>(decode_payload(text)));
}

TEST_CASE("a type that nobody taught us stays one, with the whole line") {
  const std::string line = R"({"type":"vote","from":"bob","content":"aye"})";
  CHECK(payload<UnknownPayload>(line).type == "vote");
  CHECK(decoded(line).text == line);
}

TEST_CASE("a bad line is named by its field and by what was found there") {
  CHECK(code("") == "line.syntax");
  CHECK(code("[]") == "line.syntax");
  CHECK(code(R"({"type":"message","from":"a")") == "line.syntax");
  CHECK(code(R"({"type":"message","content":"x"})") == "line.field");
  CHECK(code(R"({"type":"message","from":5,"content":"x"})") == "line.field");
  CHECK(code(R"({"type":"message","from":"a"})") == "line.field");
  CHECK(code(R"({"type":"shutdown_request","from":"a","request_id":"1"})") == "line.direction");
  CHECK(code(R"({"type":"permission_request","from":"a","request_id":"1"})") == "line.type");
  CHECK(code(std::string("\0\0\0", 3)) == "line.syntax");
}

TEST_CASE("what we write is the bytes that the programs of each generation write") {
  CHECK(*encode_jsonl(message("go on"), "bob", JsonlGeneration::g1) ==
        "{\"type\": \"message\", \"from\": \"lead\", \"content\": \"go on\", \"timestamp\": 1770477646.348}\n");
  CHECK(*encode_jsonl(message("go on"), "bob", JsonlGeneration::g3) ==
        "{\"from\": \"lead\", \"to\": \"bob\", \"content\": \"go on\", \"type\": \"message\", \"ts\": 1770477646.348, "
        "\"metadata\": {}}\n");
  Message to_all = message("go on");
  to_all.to_all = true;
  CHECK(*encode_jsonl(to_all, "bob", JsonlGeneration::g1) ==
        "{\"type\": \"broadcast\", \"from\": \"lead\", \"content\": \"go on\", \"timestamp\": 1770477646.348}\n");
  CHECK(encode_jsonl(to_all, "bob", JsonlGeneration::g4)->find("\"type\": \"broadcast\"") != std::string::npos);
  const std::string no = encode(PlanApprovalResponse{"1a2b3c4d", false, "too big", "t", ""});
  CHECK(*encode_jsonl(message(no), "bob", JsonlGeneration::g2) ==
        "{\"type\": \"plan_approval_response\", \"from\": \"lead\", \"content\": \"too big\", \"timestamp\": 1770477646.348, "
        "\"request_id\": \"1a2b3c4d\", \"approve\": false, \"feedback\": \"too big\"}\n");
  CHECK(*encode_jsonl(message(no), "bob", JsonlGeneration::g3) ==
        "{\"from\": \"lead\", \"to\": \"bob\", \"content\": \"too big\", \"type\": \"plan_approval_response\", "
        "\"ts\": 1770477646.348, \"metadata\": {\"request_id\": \"1a2b3c4d\", \"approve\": false}}\n");
  const std::string stop = encode(ShutdownRequest{"1a2b3c4d", "lead", "all done", "t"});
  CHECK(*encode_jsonl(message(stop), "bob", JsonlGeneration::g1) ==
        "{\"type\": \"shutdown_request\", \"from\": \"lead\", \"content\": \"all done\", \"timestamp\": 1770477646.348, "
        "\"request_id\": \"1a2b3c4d\"}\n");
}

TEST_CASE("a line of ours is ASCII and one line for every reader, and says what it was given") {
  const std::string odd = std::string("\0\x1b\"\\\n\r\t\x7f", 8) + "\u0085\u2028\u2029 é \xF0\x9F\x98\x80 </x>";
  for (const auto generation : {JsonlGeneration::g1, JsonlGeneration::g2, JsonlGeneration::g3, JsonlGeneration::g4}) {
    const std::string line = *encode_jsonl(message(odd), "bob", generation);
    CHECK(line.find('\n') == line.size() - 1);
    for (const char c : line) CHECK((c == '\n' || (c >= 0x20 && c < 0x7F)));
    CHECK(decoded(line).text == odd);
    CHECK(decoded(line).timestamp == message("").timestamp);
  }
}

TEST_CASE("what no line can say is refused in words") {
  for (const std::string& text :
       {encode(ModeSetRequest{"plan", "lead"}), encode(PermissionResponse{"1", true, "", "", ""}),
        encode(SandboxPermissionResponse{"1", "h", true, "t"}), encode(TeamPermissionUpdate{"{}", "/d", "Bash"})}) {
    const auto line = encode_jsonl(message(text), "bob", JsonlGeneration::g1);
    REQUIRE_FALSE(line.ok());
    CHECK(line.error().code == "line.not_carried");
  }
}

TEST_CASE("a line at which every reader ends is told from one that all of them read") {
  CHECK(poller::why_readers_end(R"({"type":"message","from":"a","content":"x"})").empty());
  CHECK(poller::why_readers_end(" ").empty());
  CHECK_FALSE(poller::why_readers_end(R"({"type":"mess)").empty());
  CHECK_FALSE(poller::why_readers_end("{\"content\":\"a\xE2\x80\xA8\"}").empty());
}

TEST_CASE("a team's generation is told by its folders") {
  CHECK(generation_of({.inbox = true}) == JsonlGeneration::g1);
  CHECK(generation_of({.inbox = true, .requests = true}) == JsonlGeneration::g2);
  CHECK(generation_of({}) == JsonlGeneration::g3);
  CHECK(generation_of({.task_lock = true}) == JsonlGeneration::g4);
  CHECK(generation_of({.hex_tasks = true}) == JsonlGeneration::g4);
}

}  // namespace inbox_poller::jsonl_line_test

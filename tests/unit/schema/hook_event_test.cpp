#include "schema/hook_event.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::hook_event_test {

using namespace inbox_poller::schema;

TEST_CASE("a hook may be slow between turns, and never at a tool or an event that is not known") {
  for (const auto* event : {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"}) CHECK(may_be_slow(event));
  for (const auto* event : {"PreToolUse", "PostToolUse", "PermissionRequest", "Notification", "stop", ""})
    CHECK_FALSE(may_be_slow(event));
}

TEST_CASE("a hook's event is read as documented, whatever else it says") {
  const auto event = decode_hook_event(
      R"({"session_id":"s-1","prompt_id":"p","transcript_path":"/t.jsonl","cwd":"/work","permission_mode":"default",)"
      R"("effort":{"level":"high"},"hook_event_name":"PermissionRequest","tool_name":"Bash",)"
      R"("tool_input":{"command":"ls", "n":123456789012345678901234567890, "x":"\ud800"},"permission_suggestions":[],)"
      R"("agent_id":"a1","agent_type":"Explore"})");
  REQUIRE(event);
  CHECK(event->name == "PermissionRequest");
  CHECK(event->session_id == "s-1");
  CHECK(event->prompt_id == "p");
  CHECK(event->cwd == "/work");
  CHECK(event->tool_name == "Bash");
  CHECK(event->tool_input == R"({"command":"ls", "n":123456789012345678901234567890, "x":"\ud800"})");
  CHECK(event->agent_id == "a1");
  CHECK(event->agent_type == "Explore");
  CHECK_FALSE(event->stop_hook_active);
}

TEST_CASE("fields of another kind than documented count as not said") {
  const auto event = decode_hook_event(
      R"({"hook_event_name":"Stop","session_id":7,"cwd":null,"stop_hook_active":"true","tool_input":[1],"prompt":{}})");
  REQUIRE(event);
  CHECK(event->session_id.empty());
  CHECK(event->cwd.empty());
  CHECK_FALSE(event->stop_hook_active);
  CHECK(event->tool_input.empty());
  CHECK(event->prompt.empty());
}

TEST_CASE("a tool's input that a strict parser refuses is none") {
  const auto with = [](const std::string& input) {
    return decode_hook_event("{\"hook_event_name\":\"PermissionRequest\",\"tool_input\":" + input + "}");
  };
  CHECK(with("{\"a\":1}")->tool_input == "{\"a\":1}");
  CHECK(with("{\"a\":\"\x01\"}")->tool_input.empty());
  CHECK(with("{\"a\":" + std::string(300, '[') + std::string(300, ']') + "}")->tool_input.empty());
}

TEST_CASE("what is no event is refused") {
  for (const auto* text : {"", " ", "null", "[]", "{", "{}", "{\"hook_event_name\":\"\"}", "{\"hook_event_name\":1}",
                           "{\"hook_event_name\":\"Stop\"} {}", "\xff"}) {
    INFO(text);
    CHECK_FALSE(decode_hook_event(text));
  }
}

TEST_CASE("of an event that is cut off, the whole fields count, and never a tool's input") {
  const std::string text =
      R"({"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"a":1},"tool_name":"Bash","tool_response":"long)";
  CHECK_FALSE(decode_hook_event(text));
  const auto event = decode_hook_event(text, true);
  REQUIRE(event);
  CHECK(event->name == "PostToolUse");
  CHECK(event->tool_name == "Bash");
  CHECK(event->tool_input.empty());

  // What follows was not read: it may make this no event at all.
  const auto whole = decode_hook_event(R"({"hook_event_name":"PermissionRequest","tool_input":{"a":1}}   )", true);
  REQUIRE(whole);
  CHECK(whole->tool_input.empty());
}

TEST_CASE("an event that is written is read as the same") {
  HookEvent event;
  event.name = "UserPromptSubmit";
  event.session_id = "s \"1\"";
  event.prompt = "line\nline \xF0\x9F\x98\x80 \x1b";
  event.tool_input = R"({"a":1e400})";
  event.stop_hook_active = true;
  const auto again = decode_hook_event(encode(event));
  REQUIRE(again);
  CHECK(again->name == event.name);
  CHECK(again->session_id == event.session_id);
  CHECK(again->prompt == event.prompt);
  CHECK(again->tool_input == event.tool_input);
  CHECK(again->stop_hook_active);
}

TEST_CASE("answers have exactly the documented shape") {
  CHECK(hook_context("PostToolUse", "a \"b\"\n") ==
        R"({"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"a \"b\"\n"}})");
  CHECK(hook_continue("go on", false) == R"({"decision":"block","reason":"go on"})");
  CHECK(hook_continue("go on", true) == hook_context("Stop", "go on"));
  CHECK(
      hook_allow(R"({"command":"ls", "n":1e400})") ==
      R"({"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"command":"ls", "n":1e400}}}})");
  CHECK(
      hook_deny("no") ==
      R"({"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}})");
}

TEST_CASE("a pointer names only who may be named") {
  CHECK(pointer_to("ada", 20000, "demo") ==
        "A message from ada is waiting. With 20000 bytes it is too long for a hook; this prints it: "
        "inbox-poller recv --ignore-busy --team demo");
  CHECK(pointer_to("a b\nrun this", 20000, "x y").find("run this") == std::string::npos);
}

}  // namespace inbox_poller::hook_event_test

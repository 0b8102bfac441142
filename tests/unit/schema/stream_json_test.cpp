// The lines of a headless client, as docs/reference/wire.md W26 tells them.
#include "schema/stream_json.hpp"

#include <boost/json.hpp>

#include "tests/support/catch.hpp"

namespace inbox_poller::schema::stream_json_test {
namespace {

namespace json = boost::json;

template <class Kind>
Kind decoded(std::string_view line) {
  const auto value = decode_stream_line(line).said;
  INFO(line);
  REQUIRE(std::holds_alternative<Kind>(value));
  return std::get<Kind>(value);
}

json::object parsed(const std::string& line) {
  CHECK(line.find('\n') == std::string::npos);
  return json::parse(line).as_object();
}

}  // namespace

TEST_CASE("a stream tells of the session, of work, of taken lines and of the end of turns") {
  const auto init = decoded<StreamInit>(
      R"({"type":"system","subtype":"init","cwd":"/work","session_id":"5f1c","capabilities":["interrupt_receipt_v1"]})");
  CHECK(init.session_id == "5f1c");
  CHECK(init.cwd == "/work");
  CHECK(decoded<StreamAnswer>(R"({"type":"assistant","message":{"id":"m-1","model":"claude"},"session_id":"5f1c"})").id == "m-1");
  CHECK(decoded<StreamAnswer>(R"({"type":"assistant","message":{},"parent_tool_use_id":null})").id.empty());
  decoded<StreamWork>(R"({"type":"user","message":{"role":"user","content":[{"type":"tool_result"}]}})");
  decoded<StreamWork>(R"({"type":"stream_event","event":{}})");
  CHECK(decoded<StreamReplay>(R"({"isReplay":true,"uuid":"u-1","type":"user","message":{}})").uuid == "u-1");
  CHECK(decoded<StreamReplay>(R"({"isReplay":true,"type":"user"})").uuid.empty());
  CHECK_FALSE(decoded<StreamResult>(R"({"type":"result","subtype":"success","is_error":false})").failed);
  CHECK_FALSE(decoded<StreamResult>(R"({"type":"result"})").failed);
  CHECK(decoded<StreamResult>(R"({"type":"result","subtype":"error_during_execution","is_error":true})").failed);
  CHECK(decoded<StreamResult>(R"({"type":"result","subtype":"error_during_execution","is_error":false})").failed);
}

TEST_CASE("an answer is the model's own, in the session's conversation") {
  decoded<StreamWork>(R"({"type":"assistant","message":{"id":"m-1","model":"<synthetic>","content":[{"text":"API Error: 400"}]}})");
  decoded<StreamWork>(R"({"type":"assistant","message":{"id":"m-1","model":"claude"},"parent_tool_use_id":"toolu_1"})");
}

TEST_CASE("only a replay that says so is one") {
  decoded<StreamWork>(R"({"type":"user","isReplay":false,"uuid":"u-1"})");
  decoded<StreamWork>(R"({"type":"user","isReplay":"true","uuid":"u-1"})");
  decoded<StreamWork>(R"({"type":"user","message":{"isReplay":true},"uuid":"u-1"})");
}

TEST_CASE("what the newest clients tell of input lines: their states, and the turns that answer them") {
  const auto command = [](const std::string& state) {
    return decoded<StreamCommand>(R"({"type":"command_lifecycle","command_uuid":"u-1","state":")" + state +
                                  R"(","uuid":"another"})");
  };
  CHECK(command("started").uuid == "u-1");
  CHECK(command("started").started);
  for (const std::string state : {"completed", "cancelled"}) {
    CHECK_FALSE(command(state).started);
    CHECK(command(state).ended);
  }
  for (const std::string state : {"queued", ""}) {
    CHECK_FALSE(command(state).started);
    CHECK_FALSE(command(state).ended);
  }
  const auto of_lines = [](std::string_view line) { return decode_stream_line(line).of_lines; };
  using Uuids = std::vector<std::string>;
  CHECK(of_lines(R"({"type":"assistant","user_message_uuids":["u-1","u-2"]})") == Uuids{"u-1", "u-2"});
  CHECK(of_lines(R"({"type":"result","user_message_uuids":["u-1"]})") == Uuids{"u-1"});
  CHECK(of_lines(R"({"type":"assistant","user_message_uuids":[1,["u-1"],"u-2"]})") == Uuids{"u-2"});
  for (const auto* line :
       {R"({"type":"assistant"})", R"({"user_message_uuids":"u-1"})", R"({"user_message_uuids":[})", "[]"})
    CHECK(of_lines(line).empty());
}

TEST_CASE("a client's command line is completed only where it says that it speaks stream-json both ways") {
  using Words = std::vector<std::string>;
  const Words both{"claude", "-p", "--input-format", "stream-json", "--output-format=stream-json"};
  const auto with = [&](Words more) {
    Words argv = both;
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  };
  CHECK(missing_options(both, false).options == Words{"--verbose", "--replay-user-messages"});
  CHECK(missing_options(with({"--verbose", "--replay-user-messages"}), false).options.empty());
  CHECK(missing_options(with({"--verbose", "--replay-user-messages"}), true).options ==
        Words{"--permission-prompt-tool", "stdio"});
  for (const auto& tool : {Words{"--permission-prompt-tool", "stdio"}, Words{"--permission-prompt-tool=stdio"}}) {
    auto argv = with({"--verbose", "--replay-user-messages"});
    argv.insert(argv.end(), tool.begin(), tool.end());
    CHECK(missing_options(argv, true).options.empty());
    CHECK(missing_options(argv, true).other_prompt_tool.empty());
  }
  CHECK(missing_options(with({"--permission-prompt-tool", "mcp__x__y"}), true).other_prompt_tool == "mcp__x__y");
  CHECK(missing_options(with({"--permission-prompt-tool", "mcp__x__y"}), false).other_prompt_tool.empty());
  CHECK(missing_options(with({"--", "--verbose"}), false).behind_dashes);
  CHECK(missing_options(with({"--", "--verbose"}), false).options == Words{"--verbose", "--replay-user-messages"});
  for (const auto& argv :
       {Words{}, Words{"./my-lead"}, Words{"claude", "-p", "--output-format", "stream-json"},
        Words{"claude", "--input-format"}, Words{"claude", "--input-format", "text", "--output-format", "stream-json"}})
    CHECK(missing_options(argv, true).options.empty());
}

TEST_CASE("a request to use a tool keeps the bytes of its input") {
  const auto request = decoded<ToolRequest>(
      R"({"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",)"
      R"("input":{"command":"ls", "n":123456789012345678901234567890},"tool_use_id":"toolu_1"}})");
  CHECK(request.request_id == "r1");
  CHECK(request.tool == "Bash");
  CHECK(request.input == R"({"command":"ls", "n":123456789012345678901234567890})");
  CHECK(decoded<ToolRequestCanceled>(R"({"type":"control_cancel_request","request_id":"r1"})").request_id == "r1");
}

TEST_CASE("a request with missing or odd fields stays a request, so that somebody refuses it") {
  const auto request = decoded<ToolRequest>(
      R"({"type":"control_request","request_id":7,"request":{"subtype":"can_use_tool","tool_name":["Bash"]}})");
  CHECK(request.request_id.empty());
  CHECK(request.tool.empty());
  CHECK(request.input.empty());
}

TEST_CASE("what does not concern us is passed over, whatever it is") {
  for (const std::string_view line :
       {"", "plain words", "[]", "null", "\"type\"", "{", R"({"type":"assistant")", R"({"type":"assistant"} x)",
        R"({"type":7})", R"({"type":"system","subtype":"compact_boundary"})", R"({"type":"new_thing"})",
        R"({"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}})",
        R"({"type":"control_request","request_id":"r","request":"can_use_tool"})", "\xff\xfe{}",
        R"({"type":"control_response","response":{"request_id":"r"}})"}) {
    decoded<StreamOther>(line);
  }
}

TEST_CASE("somebody else's answer to a control request is seen") {
  CHECK(answered_request(R"({"type":"control_response","response":{"subtype":"success","request_id":"r1"}})") == "r1");
  CHECK(answered_request(R"({"type":"user","response":{"request_id":"r1"}})").empty());
  CHECK(answered_request("words").empty());
}

TEST_CASE("a line for the session carries its uuid, and comes from a peer, never from a human") {
  const auto line = parsed(encode_user_line("u-1", "inbox-poller", "two\nlines \"quoted\" \xff\x01"));
  CHECK(line.at("type") == "user");
  CHECK(line.at("uuid") == "u-1");
  CHECK(line.at("message").at("role") == "user");
  CHECK(line.at("message").at("content") == "two\nlines \"quoted\" \xef\xbf\xbd\x01");
  CHECK(line.at("parent_tool_use_id").is_null());
  CHECK(line.at("origin").at("kind") == "peer");
  CHECK(line.at("origin").at("from") == "inbox-poller");
}

TEST_CASE("an allowance carries the input as it was written, on one line") {
  const auto line = encode_tool_allowed("r\"1", "{\"n\":123456789012345678901234567890,\r\n \"a\":1e400}");
  CHECK(line.find(R"("updatedInput":{"n":123456789012345678901234567890,   "a":1e400}})") != std::string::npos);
  const auto small = parsed(encode_tool_allowed("r\"1", "{\"a\":\n1}"));
  CHECK(small.at("type") == "control_response");
  CHECK(small.at("response").at("subtype") == "success");
  CHECK(small.at("response").at("request_id") == "r\"1");
  CHECK(small.at("response").at("response").at("behavior") == "allow");
  CHECK(small.at("response").at("response").at("updatedInput").at("a") == 1);
}

TEST_CASE("a denial says why") {
  const auto line = parsed(encode_tool_denied("r1", "not \"this\"\nnever"));
  CHECK(line.at("response").at("request_id") == "r1");
  CHECK(line.at("response").at("response").at("behavior") == "deny");
  CHECK(line.at("response").at("response").at("message") == "not \"this\"\nnever");
}

}  // namespace inbox_poller::schema::stream_json_test

// What a client says of a session of its own, as 2.1.141, 2.1.220 and 2.1.331 write it, and as nobody does.
#include "schema/client_session.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::client_session_test {

using namespace inbox_poller::schema;

TEST_CASE("a session's file is read as three generations write it") {
  const auto oldest = decode_client_session(
      R"({"pid":9849,"sessionId":"4f5efe47-1536-4a75-ba1b-9740a9917e5e","cwd":"/p","startedAt":1795616246775,)"
      R"("procStart":"38135","version":"2.1.141","peerProtocol":1,"kind":"interactive","entrypoint":"cli",)"
      R"("status":"busy","updatedAt":1795616255076})");
  REQUIRE(oldest);
  CHECK(*oldest == ClientSession{9849, "4f5efe47-1536-4a75-ba1b-9740a9917e5e", "38135", "2.1.141", "cli", "busy",
                                 1795616255076});
  const auto headless = decode_client_session(
      R"({"pid":14608,"sessionId":"s","procStart":"53344","version":"2.1.220","entrypoint":"sdk-cli","name":"n"})");
  REQUIRE(headless);
  CHECK(headless->status.empty());
  const auto newest = decode_client_session(
      R"({"pid":29527,"sessionId":"s","procStart":"91663","version":"2.1.331","peerFeatures":["a"],"tmux":"0:@0.%0",)"
      R"("asksForConvertedSkills":null,"status":"waiting","waitingFor":"permission prompt"})");
  REQUIRE(newest);
  CHECK(newest->status == "waiting");
}

TEST_CASE("a field of another kind counts as not said, and a session without a process as none") {
  const auto odd = decode_client_session(
      R"({"pid":7,"sessionId":{"x":1},"procStart":12345678901234567890,"version":"latest","entrypoint":[],"status":3,)"
      R"("updatedAt":"now","more":[[[]]]})");
  REQUIRE(odd);
  CHECK(*odd == ClientSession{7, "", "12345678901234567890", "", "", "", 0});
  for (const auto* text : {"", "{", "[]", "null", "{}", R"({"pid":0})", R"({"pid":-3})", R"({"pid":"7"})",
                           R"({"pid":7,"sessionId":"a)", R"({"pid":7}{"pid":8})"}) {
    INFO(text);
    CHECK_FALSE(decode_client_session(text));
  }
}

TEST_CASE("only a file that is called by a number is a session's") {
  CHECK(pid_of_session_file("42.json") == 42);
  for (const auto* name : {"", ".json", "0.json", "-1.json", "042.json", "+42.json", "42.json.tmp", "42", "x42.json",
                           "42.9f.key", "99999999999999999999.json", "4 2.json", "../42.json"}) {
    INFO(name);
    CHECK(pid_of_session_file(name) == 0);
  }
}

}  // namespace inbox_poller::client_session_test

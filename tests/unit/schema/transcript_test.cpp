// Lines as 2.1.50 and 2.1.330 write them into a session's transcript.
#include "schema/transcript.hpp"

#include "schema/hook_event.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::transcript_test {

using namespace inbox_poller::schema;

namespace {

const std::string text =
    "Messages from your team, delivered by inbox-poller:\n<teammate-message teammate_id=\"ada\">\nüber "
    "\"alles\"\n</teammate-message>";
const std::string wanted = comparable(text);

std::string attachment(const std::string& type, const std::string& more) {
  return R"({"parentUuid":null,"isSidechain":false,"attachment":{"type":")" + type + "\"," + more +
         R"(},"type":"attachment","version":"2.1.330"})";
}

}  // namespace

TEST_CASE("a line that stands for what the model was given proves it") {
  for (
      const auto& line :
      {attachment("hook_additional_context", "\"content\":[" + quote(text) + "],\"hookEvent\":\"PostToolUse\""),
       attachment("queued_command", "\"prompt\":" + quote("<system-reminder>\nStop hook: " + text + "\n")),
       R"({"type":"user","isMeta":true,"message":{"role":"user","content":)" + quote("Stop hook feedback:\n" + text) +
           "}}",
       R"({"type":"api-request-blob","message":{"role":"system","content":[{"type":"text","text":)" +
           quote("x\n\n" + text + "\n\ny") + "}]}}",
       std::string(
           R"({"type":"user","x":"Messages\u0020from your team, delivered by inbox-poller:\r\n\u003cteammate-message teammate_id=\"ada\"\u003E\t\u00fcber \"alles\" \u003c\/teammate-message>"})")}) {
    INFO(line);
    CHECK(gives_to_model(line, wanted));
  }
}

TEST_CASE("a line that says only that a hook ran, or is somebody else's, proves nothing") {
  const auto output = quote("{\"hookSpecificOutput\":{\"additionalContext\":" + quote(text) + "}}");
  for (const std::string& line :
       {attachment("hook_success", "\"stdout\":" + output), attachment("hook_success", "\"stdout\":" + quote(text)),
        attachment("hook_non_blocking_error", "\"stderr\":" + quote(text)),
        attachment("something_new", "\"content\":" + quote(text)),
        R"({"type":"queue-operation","operation":"enqueue","content":)" + quote(text) + "}",
        R"({"type":"system","subtype":"stop_hook_summary","hookErrors":[)" + quote(text) + "]}",
        R"({"type":"user","isSidechain":true,"message":{"content":)" + quote(text) + "}}",
        R"({"type":"user","message":{"content":)" + quote(text.substr(0, text.size() - 30)) + "}}",
        R"({"type":"user","message":{"content":)" + quote(text), std::string(), std::string("[]"), quote(text),
        std::string("\xff")}) {
    INFO(line);
    CHECK_FALSE(gives_to_model(line, wanted));
  }
  CHECK_FALSE(gives_to_model(R"({"type":"user"})", ""));
}

TEST_CASE("an answer is the model's own line") {
  CHECK(is_answer(R"({"type":"assistant","message":{}})"));
  CHECK(is_answer(R"({"type":"assistant","message":{"model":"claude"}})"));
  CHECK_FALSE(is_answer(R"({"type":"assistant","message":{"model":"<synthetic>"},"isApiErrorMessage":true})"));
  CHECK_FALSE(is_answer(R"({"type":"assistant","isSidechain":true})"));
  CHECK_FALSE(is_answer(R"({"type":"user","message":{"role":"assistant"}})"));
  CHECK_FALSE(is_answer(R"({"type":"assistant")"));
}

TEST_CASE("a transcript tells the client's version and whether a person interrupted the turn") {
  const std::string user = R"({"type":"user","message":{"content":"go"},"version":"2.1.330"})";
  const std::string interrupted =
      R"({"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"version":"2.1.50"})";
  const std::string answer = R"({"type":"assistant","message":{},"version":"2.1.330"})";
  auto signs = transcript_signs(user + "\n" + interrupted + "\n" + R"({"type":"mode"})" + "\n");
  CHECK(signs.version == "2.1.50");
  CHECK(signs.interrupted == true);
  CHECK(transcript_signs(interrupted + "\n" + user + "\n").interrupted == false);
  CHECK(transcript_signs(interrupted + "\n" + answer + "\n").interrupted == false);
  CHECK(transcript_signs(answer + "\n").interrupted == false);
  CHECK(transcript_signs(R"({"type":"user","message":{"content":"[Request interrupted by user for tool use]"}})")
            .interrupted == true);
  CHECK(transcript_signs(R"({"type":"user","message":{"content":"why [Request interrupted by user]?"}})").interrupted ==
        false);
  CHECK_FALSE(transcript_signs(R"({"type":"system","content":"[Request interrupted by user]"})").interrupted);
  CHECK(transcript_signs(R"({"version":"newest"})").version.empty());
  CHECK(transcript_signs(R"({"x":{"version":"9.9.9"}})").version.empty());
  CHECK(transcript_signs("\n\n{\n").version.empty());
}

TEST_CASE("how a client runs is told by its hooks' environment, and otherwise not known") {
  CHECK(client_mode("cli", "1") == ClientMode::interactive);
  CHECK(client_mode("cli", "") == ClientMode::interactive);
  CHECK(client_mode("claude-vscode", "1") == ClientMode::interactive);
  CHECK(client_mode("cli", "0") == ClientMode::headless);  // started by a client with a person at it
  CHECK(client_mode("sdk-cli", "") == ClientMode::headless);
  CHECK(client_mode("sdk-py", "1") == ClientMode::headless);
  CHECK(client_mode("", "0") == ClientMode::headless);
  CHECK(client_mode("", "") == ClientMode::unknown);
  CHECK(client_mode("cli", "x") == ClientMode::unknown);
  CHECK(client_mode("something", "") == ClientMode::unknown);
  for (const auto mode : {ClientMode::interactive, ClientMode::headless, ClientMode::unknown})
    CHECK(parse<ClientMode>(to_string(mode)) == mode);
  CHECK_FALSE(parse<ClientMode>("").has_value());
}

}  // namespace inbox_poller::transcript_test

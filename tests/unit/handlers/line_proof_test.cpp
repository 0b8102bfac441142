// What a headless client's output proves of a line: as unmodified clients wrote it, with and without the model's answer.
#include "handlers/line_proof.hpp"

#include <initializer_list>
#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::line_proof_test {

using namespace inbox_poller::handlers;
using inbox_poller::schema::decode_stream_line;

namespace {

constexpr const char* init = R"({"type":"system","subtype":"init"})";
constexpr const char* queued = R"({"type":"command_lifecycle","command_uuid":"ours","state":"queued"})";
constexpr const char* started = R"({"type":"command_lifecycle","command_uuid":"ours","state":"started"})";
constexpr const char* completed = R"({"type":"command_lifecycle","command_uuid":"ours","state":"completed"})";
constexpr const char* canceled = R"({"type":"command_lifecycle","command_uuid":"ours","state":"cancelled"})";
constexpr const char* named = R"({"type":"system","subtype":"init","user_message_uuids":["ours"]})";
constexpr const char* replay = R"({"type":"user","isReplay":true,"uuid":"ours"})";
constexpr const char* other_replay = R"({"type":"user","isReplay":true,"uuid":"other"})";
constexpr const char* tool_result = R"({"type":"user","message":{"content":[{"type":"tool_result"}]}})";
constexpr const char* retry = R"({"type":"system","subtype":"api_retry"})";
constexpr const char* answer = R"({"type":"assistant","message":{"id":"m-2","model":"claude"}})";
constexpr const char* next_answer = R"({"type":"assistant","message":{"id":"m-5","model":"claude"}})";
constexpr const char* old_answer = R"({"type":"assistant","message":{"id":"m-1","model":"claude"}})";
constexpr const char* subagent = R"({"type":"assistant","message":{"id":"m-3","model":"claude"},"parent_tool_use_id":"t"})";
constexpr const char* error_text = R"({"type":"assistant","message":{"id":"m-4","model":"<synthetic>"}})";
constexpr const char* result = R"({"type":"result","subtype":"success","is_error":false})";
constexpr const char* named_result = R"({"type":"result","subtype":"success","user_message_uuids":["ours"]})";
constexpr const char* failed = R"({"type":"result","subtype":"success","is_error":true})";
constexpr const char* interrupted = R"({"type":"result","subtype":"error_during_execution","is_error":false})";

enum class Client { tells, silent };
enum class When { idle, in_turn };

/// What is known after these lines; `open` as long as no line before the last decides.
LineProof after(Client client, std::initializer_list<const char*> lines, When when = When::idle) {
  GivenLine line("ours", when == When::in_turn, "m-1");
  auto proof = LineProof::open;
  for (const auto* text : lines) {
    REQUIRE(proof == LineProof::open);
    proof = line.hear(decode_stream_line(text), client == Client::tells);
  }
  return proof;
}

}  // namespace

TEST_CASE("a line is open after every sign before the model's answer, and proven by the answer") {
  CHECK(after(Client::tells, {queued, started, init, retry}) == LineProof::open);
  CHECK(after(Client::tells, {queued, started, named, replay, retry, tool_result}) == LineProof::open);
  CHECK(after(Client::tells, {started, init, answer}) == LineProof::proven);
  CHECK(after(Client::tells, {named, answer}) == LineProof::proven);
  CHECK(after(Client::silent, {replay, init, answer}) == LineProof::proven);
  CHECK(after(Client::tells, {R"({"type":"assistant","message":{"id":"m-2"},"user_message_uuids":["ours"]})"}) ==
        LineProof::proven);
}

TEST_CASE("an answer proves nothing when it is a subagent's, the client's own text, or began before the line") {
  for (const auto* text : {subagent, error_text, old_answer})
    CHECK(after(Client::tells, {started, text}) == LineProof::open);
  CHECK(after(Client::tells, {answer, started, answer}, When::in_turn) == LineProof::open);
}

TEST_CASE("a line whose turn ends without an answer is unanswered, whatever the client says of it") {
  for (const auto* end : {result, named_result, failed, interrupted, completed, canceled}) {
    CHECK(after(Client::tells, {started, init, end}) == LineProof::unanswered);
    CHECK(after(Client::tells, {started, init, error_text, end}) == LineProof::unanswered);
  }
  CHECK(after(Client::tells, {queued, canceled}) == LineProof::unanswered);
  CHECK(after(Client::tells, {named_result}) == LineProof::unanswered);
}

TEST_CASE("where a client names no lines, the end of a turn with an answer is assumed to be the line's") {
  CHECK(after(Client::silent, {init, answer}) == LineProof::open);
  CHECK(after(Client::silent, {init, answer, result}) == LineProof::assumed);
  for (const auto* end : {result, failed, interrupted}) CHECK(after(Client::silent, {init, end}) == LineProof::unanswered);
  for (const auto* end : {failed, interrupted}) CHECK(after(Client::silent, {init, answer, end}) == LineProof::unanswered);
}

TEST_CASE("another line's turn proves nothing, and a line that a client passed over is lost") {
  CHECK(after(Client::silent, {answer, result}, When::in_turn) == LineProof::open);
  CHECK(after(Client::silent, {result, init, answer, result}, When::in_turn) == LineProof::assumed);
  CHECK(after(Client::silent, {init, other_replay, answer, result}) == LineProof::open);
  CHECK(after(Client::silent, {init, other_replay, answer, result, init, next_answer, result}) == LineProof::assumed);
  CHECK(after(Client::tells, {answer, result}) == LineProof::open);
  CHECK(after(Client::tells, {answer, result, next_answer, result}) == LineProof::lost);
  CHECK(after(Client::tells, {answer, result, started, next_answer}) == LineProof::proven);
  GivenLine line("ours", false, "");
  CHECK_FALSE(line.was_passed());
  CHECK(line.hear(decode_stream_line(result), true) == LineProof::open);
  CHECK(line.was_passed());
  CHECK(line.hear(decode_stream_line(started), true) == LineProof::open);
  CHECK_FALSE(line.was_passed());
}

}  // namespace inbox_poller::line_proof_test

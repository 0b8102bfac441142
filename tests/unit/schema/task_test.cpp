#include "schema/task.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::task_test {

using namespace inbox_poller::schema;

namespace {

const std::string task_file = R"({
  "id": "7",
  "subject": "Lay the bricks",
  "description": "one \"by\" one",
  "owner": "mason",
  "status": "in_progress",
  "blocks": ["8"],
  "blockedBy": [],
  "metadata": {"x-foreign": 1e400}
})";

void replace(std::string& text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a task says what it is, whose it is and how far it is") {
  const auto task = decode_task(task_file);
  REQUIRE(task.ok());
  CHECK(task->id == "7");
  CHECK(task->subject == "Lay the bricks");
  CHECK(task->status == "in_progress");
  CHECK(task->owner == "mason");
  CHECK_FALSE(task->internal);
}

TEST_CASE("a task is its owner's by bare name or by agent id, and nobody's when it names nobody") {
  Task task;
  task.owner = "mason";
  CHECK(task.is_owned_by("mason", "mason@house"));
  CHECK_FALSE(task.is_owned_by("mas", "mas@house"));
  task.owner = "mason@house";
  CHECK(task.is_owned_by("mason", "mason@house"));
  CHECK_FALSE(task.is_owned_by("mason", "mason@barn"));
  CHECK_FALSE(task.is_owned_by("mason", ""));
  task.owner = "";
  CHECK_FALSE(task.is_owned_by("", ""));
}

TEST_CASE("completed and deleted tasks are finished, those of a state nobody taught us are not") {
  const auto unfinished = [](const std::string& status) {
    return decode_task(R"({"id":"1","status":")" + status + "\"}")->is_unfinished();
  };
  CHECK(unfinished("pending"));
  CHECK(unfinished("in_progress"));
  CHECK(unfinished("paused"));
  CHECK_FALSE(unfinished("completed"));
  CHECK_FALSE(unfinished("deleted"));
}

TEST_CASE("only metadata._internal true marks a tracker of the client's own") {
  const auto internal = [](const std::string& metadata) {
    return decode_task(R"({"id":"1","status":"pending","metadata":)" + metadata + "}")->internal;
  };
  CHECK(internal(R"({"_internal":true})"));
  for (const char* metadata : {"{}", R"({"_internal":"true"})", R"({"_internal":false})", "[]", "7", "null"})
    CHECK_FALSE(internal(metadata));
}

TEST_CASE("an error in a task names the field") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "expected '{' at the beginning of an object, found the end of the text at byte 0"},
      {"{\"id\":\"1\"", "expected ',' or '}' after a member, found the end of the text at byte 9"},
      {R"({"status":"pending"})", "id: expected a string, found nothing"},
      {R"({"id":"1"})", "status: expected a string, found nothing"},
      {R"({"id":1,"status":"pending"})", "id: expected a string, found a number"},
  };
  for (const auto& [bytes, message] : rows) {
    CAPTURE(bytes);
    REQUIRE_FALSE(decode_task(bytes).ok());
    CHECK(decode_task(bytes).error().message == message);
    CHECK(released(bytes).error().message == message);
  }
}

TEST_CASE("a task is read whatever type its optional fields have") {
  const auto task = decode_task(R"({"id":"1","status":"pending","owner":{},"subject":5,"description":[]})");
  REQUIRE(task.ok());
  CHECK(task->owner.empty());
  CHECK(task->subject.empty());
  CHECK(*released(R"({"id":"1","status":"x","owner":{},"subject":5})") == R"({"id":"1","status":"pending","subject":5})");
}

TEST_CASE("a released task has no owner and is pending - every other byte stays") {
  std::string expected = task_file;
  replace(expected, "  \"owner\": \"mason\",\n", "");
  replace(expected, "\"in_progress\"", "\"pending\"");
  REQUIRE(released(task_file).ok());
  CHECK(*released(task_file) == expected);
}

TEST_CASE("an owner is taken out wherever it stands and however the file is written") {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"owner":"a","id":"1","status":"x"})", R"({"id":"1","status":"pending"})"},
      {R"({"id":"1","owner":"a","status":"x"})", R"({"id":"1","status":"pending"})"},
      {R"({"id":"1","status":"x","owner":"a"})", R"({"id":"1","status":"pending"})"},
      {R"({ "id": "1", "status": "x", "owner": "a" })", R"({ "id": "1", "status": "pending" })"},
      {"{\r\n  \"id\": \"1\",\r\n  \"status\": \"x\",\r\n  \"owner\": \"a\"\r\n}\r\n",
       "{\r\n  \"id\": \"1\",\r\n  \"status\": \"pending\"\r\n}\r\n"},
      {"{\n  \"owner\": \"a\",\n  \"id\": \"1\",\n  \"status\": \"x\"\n}",
       "{\n  \"id\": \"1\",\n  \"status\": \"pending\"\n}"},
      {R"({"owner":1,"id":"1","owner":"a","status":"x","\u006fwner":"b"})", R"({"id":"1","status":"pending"})"},
      {R"({"id":"1","owner":null,"status":"x"})", R"({"id":"1","status":"pending"})"},
  };
  for (const auto& [bytes, expected] : rows) {
    CAPTURE(bytes);
    REQUIRE(released(bytes).ok());
    CHECK(*released(bytes) == expected);
  }
}

TEST_CASE("of two states the last one counts, and is the one that changes") {
  CHECK(*released(R"({"status":"a","id":"1","status":"b"})") == R"({"status":"a","id":"1","status":"pending"})");
}

TEST_CASE("an owner within another member is no owner") {
  const std::string bytes = R"({"id":"1","status":"pending","metadata":{"owner":"a"},"subject":"\"owner\":\"a\""})";
  CHECK(*released(bytes) == bytes);
}

TEST_CASE("releasing a task twice is releasing it once") {
  CHECK(*released(*released(task_file)) == *released(task_file));
}

TEST_CASE("an assigned task has the new owner, is pending, and keeps every other byte") {
  CHECK(*assigned(R"({"id":"1","owner":"a","status":"in_progress","x":[1, null]})", "b\"") ==
        "{\"id\":\"1\",\"status\":\"pending\",\"x\":[1, null],\n  \"owner\": \"b\\\"\"}");
  const auto task = decode_task(*assigned(task_file, "ada"));
  REQUIRE(task.ok());
  CHECK(task->owner == "ada");
  CHECK(task->status == "pending");
  CHECK(*released(*assigned(task_file, "ada")) == *released(task_file));
  CHECK_FALSE(assigned(R"({"id":"1"})", "a").ok());
  CHECK_FALSE(assigned("{", "a").ok());
}

}  // namespace inbox_poller::task_test

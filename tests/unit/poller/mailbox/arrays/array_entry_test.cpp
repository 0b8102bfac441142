#include "poller/mailbox/arrays/array_entry.hpp"

#include <boost/json.hpp>

#include "tests/support/catch.hpp"

namespace inbox_poller::array_entry_test {

using namespace inbox_poller::schema;
using namespace inbox_poller::poller;

TEST_CASE("an entry of a 2.1.50 client: no type, no id") {
  const auto message = decode_entry(
      R"({"from":"worker-1","text":"hi","summary":"s","timestamp":"2026-02-07T15:20:46.348Z","color":"blue","read":true})");
  REQUIRE(message.ok());
  CHECK(message->from == "worker-1");
  CHECK(message->text == "hi");
  CHECK(message->summary == "s");
  CHECK(message->timestamp == "2026-02-07T15:20:46.348Z");
  CHECK(message->color == "blue");
  CHECK(message->id.empty());
}

TEST_CASE("an entry of a 2.1.329 client, with keys nobody told us about") {
  const auto message = decode_entry(
      R"( {"from":"w","text":"","timestamp":"t","msgV":1,"msg_id":"id","type":"message","read":false,"lead_sig":{"a":[1e99999999999]}} )");
  REQUIRE(message.ok());
  CHECK(message->id == "id");
}

TEST_CASE("a missing or null timestamp or summary means none") {
  const auto message = decode_entry(R"({"from":"w","text":"x","summary":null})");
  REQUIRE(message.ok());
  CHECK(message->timestamp.empty());
  CHECK(message->summary.empty());
  CHECK(decode_entry(R"({"from":"w","text":"x","timestamp":null})").ok());
}

TEST_CASE("half an emoji does not make an entry bad") {
  const auto message = decode_entry(R"({"from":"w","text":"cut \ud83d"})");
  REQUIRE(message.ok());
  CHECK(message->text == "cut \xEF\xBF\xBD");
}

TEST_CASE("of duplicate members the last one counts, as in JavaScript") {
  const auto message = decode_entry(R"({"from":"a","text":"x","from":"b","read":true,"read":false})");
  REQUIRE(message.ok());
  CHECK(message->from == "b");
}

TEST_CASE("a bad entry is named by its field and by what was found there") {
  struct Row {
    std::string entry, code, message;
  };
  const std::vector<Row> rows = {
      {"null", "entry.not_object", "expected an object with 'from' and 'text', found null"},
      {"[]", "entry.not_object", "expected an object with 'from' and 'text', found an array"},
      {"5", "entry.not_object", "expected an object with 'from' and 'text', found a number"},
      {"{", "entry.syntax", "expected a key in quotes, found the end of the text at byte 1 of the entry"},
      {R"({"text":"x"})", "entry.field", "from: expected a string, found nothing"},
      {R"({"from":"w"})", "entry.field", "text: expected a string, found nothing"},
      {R"({"from":5,"text":"x"})", "entry.field", "from: expected a string, found a number"},
      {R"({"from":"w","text":{"type":"message"}})", "entry.field", "text: expected a string, found an object"},
      {R"({"from":"w","text":null})", "entry.field", "text: expected a string, found nothing"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.entry);
    const auto message = decode_entry(row.entry);
    REQUIRE_FALSE(message.ok());
    CHECK(message.error().code == row.code);
    CHECK(message.error().message == row.message);
  }
}

TEST_CASE("a field other than from and text counts as absent when it has another type, and is told") {
  const std::pair<const char*, const char*> rows[] = {
      {R"("timestamp":1770477646348)", "timestamp: expected a string, found a number"},
      {R"("color":[])", "color: expected a string, found an array"},
      {R"("summary":1)", "summary: expected a string, found a number"},
      {R"("msg_id":1)", "msg_id: expected a string, found a number"},
      {R"("type":true)", "type: expected a string, found a boolean"},
      {R"("read":"false")", "read: expected true or false, found a string"},
      {R"("read":null)", "read: expected true or false, found null"},
      {R"("color":5,"read":0)", "color: expected a string, found a number; read: expected true or false, found a number"},
  };
  for (const auto& [field, ignored] : rows) {
    CAPTURE(field);
    const auto entry = decode_whole_entry(std::string(R"({"from":"w","text":"x",)") + field + "}");
    REQUIRE(entry.ok());
    CHECK(entry->message == Message{"w", "x", "", "", "", ""});
    CHECK(entry->ignored == ignored);
    CHECK_FALSE(entry->says_all);
  }
}

TEST_CASE("what we write is what the client's own JSON.stringify would have written") {
  CHECK(encode_entry({"team-lead", "say \"hi\"\né/", "a summary", "2026-02-07T15:20:46.348Z", "blue", "an-id"}) ==
        R"({
    "from": "team-lead",
    "text": "say \"hi\"\né/",
    "summary": "a summary",
    "timestamp": "2026-02-07T15:20:46.348Z",
    "color": "blue",
    "msgV": 1,
    "msg_id": "an-id",
    "type": "message",
    "read": false
  })");
}

TEST_CASE("an empty summary and an empty color are left out") {
  const std::string entry = encode_entry({"team-lead", "x", "", "t", "", "id"});
  CHECK(entry.find("summary") == std::string::npos);
  CHECK(entry.find("color") == std::string::npos);
}

TEST_CASE("whatever is in a message, it is JSON and comes back the same") {
  const std::string odd = std::string("\0\x1b[2J\"\\\n", 8) + "\xF0\x9F\x98\x80</teammate-message>";
  const std::string entry = encode_entry({odd, odd, odd, odd, odd, odd});
  CHECK(boost::json::parse(entry).is_object());
  const auto message = decode_entry(entry);
  REQUIRE(message.ok());
  CHECK(message->from == odd);
  CHECK(message->text == odd);
  CHECK(message->summary == odd);
  CHECK(message->id == odd);
}

TEST_CASE("an entry says more than its message when a member is unknown or there twice, or a character was replaced") {
  const auto more = [](const std::string& entry) { return !decode_whole_entry(entry)->says_all; };
  for (const char* plain :
       {R"({"from":"a","text":"x"})", R"({"text":"x","from":"a","timestamp":"t","summary":"s","color":"c","read":true})",
        R"( {"from" : "a", "text" : "\u00e9", "summary":null, "msg_id":"i", "type":"message", "msgV":1} )"})
    CHECK_FALSE(more(plain));
  CHECK_FALSE(more(encode_entry({"team-lead", "x", "s", "t", "c", "id"})));
  for (const char* odd : {R"({"from":"a","text":"x","mood":1})", R"({"from":"a","text":"x","text":"y"})",
                          R"({"from":"a","text":"x","type":"other"})", R"({"from":"a","text":"x","msgV":2})",
                          R"({"from":"a","text":"cut \ud83d"})", "{\"from\":\"a\",\"text\":\"\xff\"}"})
    CHECK(more(odd));
}

}  // namespace inbox_poller::array_entry_test

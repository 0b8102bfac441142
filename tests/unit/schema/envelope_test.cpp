#include "schema/envelope.hpp"

#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace inbox_poller::envelope_test {

using namespace inbox_poller::schema;
namespace json = boost::json;

namespace {

Envelope decoded(std::string_view bytes) {
  auto envelope = Envelope::decode(bytes);
  REQUIRE(envelope.ok());
  return *std::move(envelope);
}

}  // namespace

TEST_CASE("An envelope is written as the public stores write: sorted keys, two spaces, ASCII") {
  Envelope message;
  message.set("to", "bob").set("from", "ada").set("payload", json::parse(R"({"b":[1,2.5],"a":{},"ä":"\u2028😀"})"));
  message.set_raw("ts", seconds_token(1'771'234'567'123'456'789));
  CHECK(message.encode() ==
        "{\n"
        "  \"from\": \"ada\",\n"
        "  \"payload\": {\n"
        "    \"a\": {},\n"
        "    \"b\": [\n"
        "      1,\n"
        "      2.5\n"
        "    ],\n"
        "    \"\\u00e4\": \"\\u2028\\ud83d\\ude00\"\n"
        "  },\n"
        "  \"to\": \"bob\",\n"
        "  \"ts\": 1771234567.123456\n"
        "}\n");
  CHECK(decoded(message.encode()) == message);
}

TEST_CASE("What is not changed keeps its bytes, numbers and deep values that no parser of ours would take too") {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  Envelope task = decoded("\xEF\xBB\xBF{\"n\": 123456789012345678901234567890, \"x\":1e99999, \"d\": " + deep +
                          ", \"s\": \"\\ud83d lone\", \"status\": \"open\", \"status\":\"later\"}");
  CHECK(task.text("status") == "later");
  task.set("status", "claimed").drop("absent");
  CHECK(task.raw("n") == "123456789012345678901234567890");
  CHECK(task.raw("x") == "1e99999");
  CHECK(task.raw("d") == deep);
  CHECK(task.raw("s") == "\"\\ud83d lone\"");
  CHECK(decoded(task.encode()) == task);
  const json::object shown = task.object();
  CHECK(shown.at("d").as_string() == deep);
  CHECK(shown.at("status").as_string() == "claimed");
}

TEST_CASE("Members of another type than expected are absent") {
  const Envelope envelope = decoded(R"({"ts":"1.5","id":7,"at":null,"far":1e999,"ok":-2.5e1})");
  CHECK_FALSE(envelope.number("ts"));
  CHECK_FALSE(envelope.number("at"));
  CHECK_FALSE(envelope.number("far"));
  CHECK_FALSE(envelope.number("none"));
  CHECK(envelope.number("ok") == -25);
  CHECK(envelope.text("id").empty());
  CHECK(envelope.raw("none").empty());
}

TEST_CASE("What is no object is an error that says where it breaks") {
  for (const char* bytes : {"", "[]", "{\"a\": NaN}", "{\"a\":1", "nonsense"}) {
    const auto envelope = Envelope::decode(bytes);
    REQUIRE_FALSE(envelope.ok());
    CHECK(envelope.error().code == "envelope.syntax");
  }
}

TEST_CASE("A message is its id, however it is spelt; without one it is what it says") {
  CHECK(identity_of(decoded(R"({"id":"7","a":1})")) == identity_of(decoded(R"({"b":2,"id":"7"})")));
  CHECK(identity_of(decoded(R"({"a":1,"b":2})")) == identity_of(decoded(R"({"b":2,"a":1})")));
  CHECK(identity_of(decoded(R"({"a":1})")) != identity_of(decoded(R"({"a":2})")));
}

TEST_CASE("A file's name hints at an id in the spelling of either store") {
  CHECK(id_hinted_by("00001771234567123456-0a1b.json") == "0a1b");
  CHECK(id_hinted_by("msg_4c0f-11.json") == "4c0f-11");
  CHECK(id_hinted_by("whatever.json").empty());
  CHECK(id_hinted_by("-x.json").empty());
  CHECK(id_hinted_by("12-x.txt").empty());
}

TEST_CASE("A number that came as one goes as one") {
  for (const char* token : {"1", "-7", "1.0", "1.5", "1e+30", "0.1", "18446744073709551615"}) {
    const auto value = parse_value(token);
    REQUIRE(value.ok());
    CHECK(pretty_ascii(*value) == token);
  }
  CHECK(pretty_ascii(*parse_value("0e400")) == "0.0");
  CHECK(pretty_ascii(*parse_value("-1e400")) == "-1e999");
  CHECK(pretty_ascii(decoded(R"({"ts": 1771234567.123457})").object()) == "{\n  \"ts\": 1771234567.123457\n}");
  CHECK(parse_value("1 2").error().code == "json.syntax");
  CHECK(parse_value("\"\\ud800\"")->as_string() == "\xEF\xBF\xBD");
}

TEST_CASE("Serialized strictly, a value is what the library writes") {
  for (
      const char* text :
      {R"({"a":"plain","b\n":["quote \" backslash \\ slash / tab \t del \u007f","\u00e4\u20ac\ud83d\ude00",""],"c":{}})",
       R"([[],{},[{"x":[1,-2,3.25,18446744073709551615,true,false,null]}],"sixteen bytes 16\u0001"])", R"("text")", "7",
       R"({"long":"0123456789abcdef0123456789abcdef\"0123456789abcdef"})"}) {
    INFO(text);
    CHECK(strict_json(json::parse(text)) == json::serialize(json::parse(text)));
  }
}

TEST_CASE("Serialized strictly, no number is a word that JSON does not have") {
  for (const auto& [text, written] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a":[1e999,-1e999,1.5,7],"b":{"c":1e400}})", R"({"a":["1e999","-1e999",1.5E0,7],"b":{"c":"1e999"}})"},
           {R"(["Infinity",null,true])", R"(["Infinity",null,true])"},
           {"1e999", R"("1e999")"}}) {
    CHECK(strict_json(json::parse(text)) == written);
  }
}

}  // namespace inbox_poller::envelope_test

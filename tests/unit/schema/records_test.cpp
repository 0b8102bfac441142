// Records: one table a struct, and what the encoder and the decoder make of it.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "schema/operations/json_schema.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"
#include "schema/operations/shape.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::records_test {

namespace json = boost::json;
using operations::decode;
using operations::encode;

namespace {

json::object object_of(const char* text) { return json::parse(text).as_object(); }

}  // namespace

TEST_CASE("records: fields stand in the order of their declaration, those of the base first") {
  const operations::ToldRule rule{{{"team", "allow", "Bash(ls)"}, "ann", 5}, {"w1", "w2"}, "Bash(rm)"};
  CHECK(json::serialize(encode(rule)) ==
        R"_({"kind":"team","action":"allow","rule":"Bash(ls)","by":"ann","at_ms":5,"told":["w1","w2"],"not_told":"Bash(rm)"})_");
}

TEST_CASE("records: what is optional and empty is left out, and an empty list is not") {
  CHECK(json::serialize(encode(operations::Outcomes{})) == R"({"answers":[]})");
  CHECK(json::serialize(encode(operations::Outcomes{{}, {{}}})) == R"({"answers":[],"answered":[]})");
}

TEST_CASE("records: bytes that are no text become one") {
  const auto object = encode(operations::Sent{"w\xff", "k"});
  CHECK(object.at("member").as_string() == "w\xef\xbf\xbd");
}

TEST_CASE("records: what is JSON itself goes on exactly as it is") {
  const auto object = encode(operations::Judgment{"allow", "", "\\ud800", {}, R"({"x":"\ud800"})"});
  CHECK(object.at("updated_input").as_string() == R"({"x":"\ud800"})");
  CHECK(object.at("reason").as_string() == "\\ufffd");
}

TEST_CASE("records: what was encoded is decoded to the same") {
  operations::Trace trace;
  trace.messages.emplace_back().priority = 0;
  trace.requests.emplace_back().kind = "plan";
  trace.requests.back().effects.emplace_back().order = operations::Order{"w1", "mode", "plan", "ann", "applied", 7};
  trace.shutdowns.emplace_back().processes = {1, 2};
  trace.node_messages.emplace_back().direction = "in";
  trace.history.push_back({3, "team", "key", "", "message.accepted", "x"});
  const json::object written = encode(trace);
  CHECK(encode(decode<operations::Trace>(written)) == written);
}

TEST_CASE("records: a reader passes over what it does not know, and takes a field of another kind as missing") {
  const auto team = decode<operations::Team>(object_of(R"({"team": 7, "role": "captain", "news": {"a": 1}, "quarantined": "many",
      "members": [{"member": "w1", "present": "yes"}, "w2", null], "lead": {"state": "busy", "session_file": null},
      "cluster": {"members": []}, "tasks": [], "replies_owed": 18446744073709551615, "locks": {"acquired": 4}})"));
  CHECK(team.team.empty());
  CHECK(team.role == "captain");  // of a newer daemon
  CHECK(team.quarantined == 0);
  CHECK(team.replies_owed == 0);
  REQUIRE(team.members.size() == 1);
  CHECK(team.members[0].member == "w1");
  CHECK_FALSE(team.members[0].present);
  CHECK(team.lead.state == "busy");
  CHECK_FALSE(team.lead.session_file);
  CHECK(team.cluster);
  CHECK_FALSE(team.tasks);
  CHECK(team.locks.acquired == 4);
}

TEST_CASE("records: their schema is closed, knows times and words, and requires what is not optional") {
  const json::object schema = operations::json_schema("trace", operations::shapes<operations::Trace>);
  const auto& document = schema.at("anyOf").at(0).as_object();
  CHECK(document.at("properties").at("ok") == json::value{{"const", true}});
  CHECK(document.at("properties").at("node_messages").at("items").at("$ref") == "#/$defs/NodeMessage");
  CHECK(schema.at("anyOf").at(1).at("properties").at("ok") == json::value{{"const", false}});
  const auto& letter = schema.at("$defs").at("NodeMessage").as_object();
  CHECK(letter.at("additionalProperties") == false);
  CHECK(letter.at("properties").at("direction") == json::value{{"enum", {"out", "in"}}});
  CHECK(letter.at("properties").at("attempts").as_object().contains("minimum"));
  CHECK(letter.at("properties").at("state_ms").as_object().contains("description"));
  const auto& effect = schema.at("$defs").at("Effect").as_object();
  CHECK(effect.at("properties").as_object().contains("order"));
  const auto& required = effect.at("required").as_array();
  CHECK(std::ranges::find(required, json::value("order")) == required.end());
  CHECK(schema.at("$defs").as_object().contains("Order"));  // what only another part names
}

TEST_CASE("records: a document that may be told as failed says so, and a line has no frame") {
  const auto swept = operations::json_schema("mailbox sweep", operations::shapes<operations::BoxTasks>).at("anyOf").at(0);
  CHECK(swept.at("properties").at("ok") == json::value{{"type", "boolean"}});
  const auto line = operations::json_schema("recv", operations::shapes<operations::LeadMessage>, true).at("anyOf").at(0);
  CHECK_FALSE(line.at("properties").as_object().contains("ok"));
  CHECK(operations::indented(json::object{{"a", 1}}) == "{\"a\":1}\n");
}

}  // namespace inbox_poller::records_test

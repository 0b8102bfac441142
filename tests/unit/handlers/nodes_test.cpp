#include "handlers/nodes.hpp"

#include "schema/codec.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::hosts_test {

using namespace inbox_poller::handlers;

namespace {

/// As node h1 has it, which leads.
config::ClusterSettings three_hosts(const std::string& ours = "h1") {
  config::ClusterSettings nodes;
  nodes.redis_url = "redis+unix:///run/redis.sock";
  nodes.id = "t";
  nodes.node = ours;
  nodes.leads = {"h1", "h4"};
  nodes.members = {{"h2", {"w3", "w4"}}, {"h3", {"w5"}}};
  return nodes;
}

std::string refused(const std::string& ours, const std::string& node, const std::string& from, const std::string& to,
                    const std::string& text = "hello") {
  const auto payload = schema::decode_payload(text);
  const auto why = refusal_of(three_hosts(ours), {node, to, from, payload}, "team-lead", ours == "h1");
  return why ? why->code : "";
}

const char* const answer =
    R"({"type":"permission_response","request_id":"perm-1","subtype":"success","response":{"updated_input":{}}})";
const char* const request =
    R"({"type":"permission_request","request_id":"perm-1","agent_id":"w3","tool_name":"Bash","tool_use_id":"t","description":"","input":{"command":"ls"},"permission_suggestions":[]})";

}  // namespace

TEST_CASE("who is named nowhere lives on the first node that may lead, and the lead on the one that leads") {
  const auto nodes = three_hosts();
  CHECK(node_of(nodes, "w3") == "h2");
  CHECK(node_of(nodes, "w5") == "h3");
  CHECK(node_of(nodes, "w1") == "h1");
  CHECK_FALSE(is_elsewhere(nodes, "w1", "team-lead", true));
  CHECK_FALSE(is_elsewhere(nodes, "w1", "team-lead", false));
  CHECK(is_elsewhere(nodes, "w3", "team-lead", true));
  CHECK_FALSE(is_elsewhere(nodes, "team-lead", "team-lead", true));
  CHECK(is_elsewhere(nodes, "team-lead", "team-lead", false));
  CHECK(host_for(nodes, "team-lead", "team-lead").empty());
  CHECK(host_for(nodes, "w4", "team-lead") == "h2");
  CHECK_FALSE(is_elsewhere(config::ClusterSettings{}, "w3", "team-lead", false));
}

TEST_CASE("a node speaks for those who live there and for nobody else") {
  CHECK(refused("h1", "h2", "w3", "team-lead").empty());
  CHECK(refused("h1", "h2", "w3@t", "team-lead").empty());
  CHECK(refused("h1", "h2", "w5", "team-lead") == "node.not_its_member");
  CHECK(refused("h1", "h2", "w1", "team-lead") == "node.not_its_member");
  CHECK(refused("h1", "h2", "nobody", "team-lead") == "node.not_its_member");
  CHECK(refused("h1", "h2", "team-lead", "w1") == "node.not_its_member");
  CHECK(refused("h3", "h1", "team-lead", "w5").empty());
  CHECK(refused("h3", "h4", "team-lead", "w5").empty());  // it may lead
  CHECK(refused("h3", "h2", "w3", "w5").empty());
}

TEST_CASE("a letter for somebody who does not live here is not taken") {
  CHECK(refused("h3", "h2", "w3", "w4") == "node.not_ours");
  CHECK(refused("h3", "h2", "w3", "team-lead") == "node.not_ours");
}

TEST_CASE("what only the lead may say comes from a node that may lead, whoever lives elsewhere") {
  CHECK(refused("h3", "h2", "w3", "w5", answer) == "direction.permission_response");
  CHECK(refused("h3", "h1", "w1", "w5", answer) == "direction.permission_response");
  CHECK(refused("h3", "h1", "team-lead", "w5", answer).empty());
  CHECK(refused("h3", "h2", "w3", "w5", request) == "direction.permission_request");
  CHECK(refused("h1", "h2", "w3", "team-lead", request).empty());
}

TEST_CASE("a letter of a stranger waits until its node had time to tell that it joined, and not for a node that is gone") {
  CHECK(waits_for_heartbeat(100'000, 0, 100'000));
  CHECK(waits_for_heartbeat(100'000, 102'000, 102'500));  // it may have been sent before the letter
  CHECK_FALSE(waits_for_heartbeat(100'000, 105'000, 105'500));
  CHECK(waits_for_heartbeat(100'000, 102'000, 129'000));
  CHECK_FALSE(waits_for_heartbeat(100'000, 102'000, 130'000));
  CHECK_FALSE(waits_for_heartbeat(100'000, 0, 99'000));  // the clock was set back
}

TEST_CASE("answers to requests are final, and nothing else is") {
  CHECK(is_final_answer(schema::decode_payload(answer)));
  CHECK_FALSE(is_final_answer(schema::decode_payload(request)));
  CHECK_FALSE(is_final_answer(schema::decode_payload("hello")));
}

}  // namespace inbox_poller::hosts_test

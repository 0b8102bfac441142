#include "handlers/hosts.hpp"

#include "schema/codec.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::hosts_test {

using namespace inbox_poller::handlers;

namespace {

/// As host h1 has it, which leads.
config::HostsSettings three_hosts(const std::string& ours = "h1") {
  config::HostsSettings hosts;
  hosts.engine = "redis+unix:///run/redis.sock";
  hosts.id = "t";
  hosts.host = ours;
  hosts.leads = {"h1", "h4"};
  hosts.members = {{"h2", {"w3", "w4"}}, {"h3", {"w5"}}};
  return hosts;
}

std::string refused(const std::string& ours, const std::string& host, const std::string& from, const std::string& to,
                    const std::string& text = "hello") {
  const auto payload = schema::decode_payload(text);
  const auto why = refusal_of(three_hosts(ours), {host, to, from, payload}, "team-lead", ours == "h1");
  return why ? why->code : "";
}

const char* const answer =
    R"({"type":"permission_response","request_id":"perm-1","subtype":"success","response":{"updated_input":{}}})";
const char* const request =
    R"({"type":"permission_request","request_id":"perm-1","agent_id":"w3","tool_name":"Bash","tool_use_id":"t","description":"","input":{"command":"ls"},"permission_suggestions":[]})";

}  // namespace

TEST_CASE("who is named nowhere lives on the first host that may lead, and the lead on the one that leads") {
  const auto hosts = three_hosts();
  CHECK(host_of(hosts, "w3") == "h2");
  CHECK(host_of(hosts, "w5") == "h3");
  CHECK(host_of(hosts, "w1") == "h1");
  CHECK_FALSE(is_elsewhere(hosts, "w1", "team-lead", true));
  CHECK_FALSE(is_elsewhere(hosts, "w1", "team-lead", false));
  CHECK(is_elsewhere(hosts, "w3", "team-lead", true));
  CHECK_FALSE(is_elsewhere(hosts, "team-lead", "team-lead", true));
  CHECK(is_elsewhere(hosts, "team-lead", "team-lead", false));
  CHECK(host_for(hosts, "team-lead", "team-lead").empty());
  CHECK(host_for(hosts, "w4", "team-lead") == "h2");
  CHECK_FALSE(is_elsewhere(config::HostsSettings{}, "w3", "team-lead", false));
}

TEST_CASE("a host speaks for those who live there and for nobody else") {
  CHECK(refused("h1", "h2", "w3", "team-lead").empty());
  CHECK(refused("h1", "h2", "w3@t", "team-lead").empty());
  CHECK(refused("h1", "h2", "w5", "team-lead") == "host.not_its_member");
  CHECK(refused("h1", "h2", "w1", "team-lead") == "host.not_its_member");
  CHECK(refused("h1", "h2", "nobody", "team-lead") == "host.not_its_member");
  CHECK(refused("h1", "h2", "team-lead", "w1") == "host.not_its_member");
  CHECK(refused("h3", "h1", "team-lead", "w5").empty());
  CHECK(refused("h3", "h4", "team-lead", "w5").empty());  // it may lead
  CHECK(refused("h3", "h2", "w3", "w5").empty());
}

TEST_CASE("a letter for somebody who does not live here is not taken") {
  CHECK(refused("h3", "h2", "w3", "w4") == "host.not_ours");
  CHECK(refused("h3", "h2", "w3", "team-lead") == "host.not_ours");
}

TEST_CASE("what only the lead may say comes from a host that may lead, whoever lives elsewhere") {
  CHECK(refused("h3", "h2", "w3", "w5", answer) == "direction.permission_response");
  CHECK(refused("h3", "h1", "w1", "w5", answer) == "direction.permission_response");
  CHECK(refused("h3", "h1", "team-lead", "w5", answer).empty());
  CHECK(refused("h3", "h2", "w3", "w5", request) == "direction.permission_request");
  CHECK(refused("h1", "h2", "w3", "team-lead", request).empty());
}

TEST_CASE("answers to requests are final, and nothing else is") {
  CHECK(is_final_answer(schema::decode_payload(answer)));
  CHECK_FALSE(is_final_answer(schema::decode_payload(request)));
  CHECK_FALSE(is_final_answer(schema::decode_payload("hello")));
}

}  // namespace inbox_poller::hosts_test

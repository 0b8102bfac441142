// Our server in a client's settings: put in and taken out by its own bytes.
#include "schema/mcp_servers.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::mcp_servers_test {

using namespace inbox_poller::schema;

namespace {

const McpServer server{"inbox-poller", "/opt/inbox-poller", {"mcp", "--actor", "al\"ice"}};
const ServersPlace user{"mcpServers"};
const ServersPlace local{"projects", "/repo", "mcpServers"};

std::string with(const std::optional<std::string>& text, const ServersPlace& place) {
  const auto changed = with_server(text, place, server);
  REQUIRE(changed.ok());
  const auto again = with_server(*changed, place, server);
  REQUIRE(again.ok());
  CHECK(*again == *changed);
  const auto found = servers_in(*changed, place);
  REQUIRE(found.ok());
  REQUIRE_FALSE(found->empty());
  CHECK(found->back().name == server.name);
  CHECK(found->back().command == server.command);
  CHECK(found->back().arguments == server.arguments);
  CHECK(is_ours(found->back()));
  return *changed;
}

}  // namespace

TEST_CASE("a server that is put into settings is taken out again to the last byte, wherever it stands") {
  for (const std::string text :
       {"{}", "{}\n", "{\n}\n", "{\"a\":1}", "{\n  \"a\": 1\n}\n", "{\r\n\t\"a\": [1,\r\n\t2]\r\n}\r\n",
        "{\"mcpServers\":{}}", "{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  }\n}",
        "{\"projects\": {\"/repo\": {\"mcpServers\": {}, \"trust\": true}}, \"z\": \"\\ud83d\"}",
        "{\n  \"projects\": {\n    \"/repo\": {\n      \"allowedTools\": []\n    },\n    \"/other\": {}\n  }\n}\n",
        "\xEF\xBB\xBF{ \"a\" : 1 }"}) {
    for (const ServersPlace& place : {user, local}) {
      CAPTURE(text);
      const std::string changed = with(text, place);
      const auto back = without_server(changed, place, server.name);
      REQUIRE(back.ok());
      REQUIRE(back->has_value());
      CHECK(**back == text);
    }
  }
}

TEST_CASE("a file that held nothing but our server goes with it") {
  for (const ServersPlace& place : {user, local}) {
    const std::string changed = with(std::nullopt, place);
    const auto back = without_server(changed, place, server.name);
    REQUIRE(back.ok());
    CHECK_FALSE(back->has_value());
  }
  CHECK(with(std::nullopt, user) ==
        "{\n  \"mcpServers\": {\n    \"inbox-poller\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/inbox-poller\",\n"
        "      \"args\": [\"mcp\", \"--actor\", \"al\\\"ice\"]\n    }\n  }\n}\n");
}

TEST_CASE("an older server of ours is replaced, another's of the same name is not") {
  const std::string old = R"({"mcpServers":{"inbox-poller":{"command":"/old/inbox-poller","args":["mcp"]},"b":{"command":"c"}}})";
  const std::string changed = with(old, user);
  CHECK(changed.find("/old/") == std::string::npos);
  CHECK(changed.find(R"("b":{"command":"c"})") != std::string::npos);
  const std::string foreign = R"({"mcpServers":{"inbox-poller":{"command":"/x/other","args":["mcp"]}}})";
  const auto refused = with_server(foreign, user, server);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "there is another server called \"inbox-poller\"; give ours another name with --name");
  const auto left = without_server(foreign, user, server.name);
  REQUIRE(left.ok());
  CHECK(**left == foreign);
}

TEST_CASE("what is no settings file is refused with its line, and what is no server is passed over") {
  for (const std::string text : {"{\n\"mcpServers\": [", "{\n\"mcpServers\": []}", "[]", "{\"mcpServers\": 7}", "x"}) {
    CAPTURE(text);
    const auto refused = with_server(text, user, server);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == "settings.syntax");
    CHECK(refused.error().message.starts_with("line "));
    CHECK_FALSE(without_server(text, user, server.name).ok());
  }
  const auto odd = servers_in(R"({"mcpServers":{"a":7,"b":{"command":7,"args":"mcp"},"c":{"command":"/inbox-poller","args":[1]}}})", user);
  REQUIRE(odd.ok());
  CHECK(odd->size() == 3);
  for (const McpServer& one : *odd) CHECK_FALSE(is_ours(one));
  CHECK(projects_in(R"({"projects":{"/a":{},"/b":1}})") == std::vector<std::string>{"/a", "/b"});
  CHECK(projects_in("{").empty());
}

}  // namespace inbox_poller::mcp_servers_test

#include "handlers/sandbox.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::sandbox_test {

using namespace testing;

namespace {

Team with_hosts(std::vector<config::HostPattern> allow, std::vector<config::HostPattern> deny = {}) {
  Team team;
  team.config.sandbox.hosts.allow = std::move(allow);
  team.config.sandbox.hosts.deny = std::move(deny);
  return team;
}

std::string answer(std::string_view host, bool allow) {
  return R"({"type":"sandbox_permission_response","requestId":"sandbox-1-aaaaaaa","host":")" + std::string(host) +
         R"(","allow":)" + (allow ? "true" : "false") + R"(,"timestamp":"2026-09-21T14:13:20.000Z"})";
}

}  // namespace

TEST_CASE("a host that a pattern allows is granted in the asker's own spelling") {
  const auto asked =
      expect<Asked>(receive(with_hosts({host("*.example.com")}), "w1", sandbox_request("API.Example.com.")));
  CHECK(asked.request.state == RequestState::approved);
  CHECK(asked.request.rule == "*.example.com");
  CHECK(asked.request.subject == "api.example.com");
  CHECK(asked.request.body == "API.Example.com.");
  CHECK(only_text(asked.posts) == answer("API.Example.com.", true));
}

TEST_CASE("a host that a pattern denies is refused") {
  const Team team = with_hosts({host("*")}, {host("evil.example")});
  const auto asked = expect<Asked>(receive(team, "w1", sandbox_request("evil.example")));
  CHECK(asked.request.state == RequestState::denied);
  CHECK(asked.request.rule == "evil.example");
  CHECK(only_text(asked.posts) == answer("evil.example", false));
}

TEST_CASE("a host that nothing names waits for a person until the sandbox's own deadline") {
  Team team;
  team.config.sandbox.timeout = std::chrono::seconds(90);
  const auto asked = expect<Asked>(receive(team, "w1", sandbox_request("a.example")));
  CHECK(asked.request.state == RequestState::pending);
  CHECK(asked.request.deadline_ms == noon + 90'000);
  CHECK(asked.posts.empty());
}

TEST_CASE("what is no plain host is approved by no rule and no default") {
  Team team = with_hosts({host("*")});
  team.config.sandbox.default_action = config::Action::allow;
  for (const char* wanted : {"*", "*.github.com", "evil.com#.github.com", "github.com@evil.com", "evil.com/x", "a b",
                             "2130706433", "0x7f.1", "gïthub.com", "a..b", "."}) {
    INFO(wanted);
    const auto asked = expect<Asked>(receive(team, "w1", sandbox_request(wanted)));
    CHECK(asked.request.state != RequestState::approved);
    CHECK(asked.request.subject == wanted);
    CHECK_FALSE(asked.request.reason.empty());
  }
}

TEST_CASE("spellings of one host are one request - other hosts, ports and oddities are others") {
  const auto hash = [](std::string_view wanted) {
    return request_of(schema::decode_payload(sandbox_request(wanted)))->content_hash;
  };
  CHECK(hash("a.example") == hash("A.EXAMPLE."));
  CHECK(hash("a.example") != hash("b.example"));
  CHECK(hash("a.example") != hash("a.example:443"));
  CHECK(hash("*.example") != hash("*.EXAMPLE"));
}

TEST_CASE("a host as a plain string is answered like one in an object") {
  const auto asked = expect<Asked>(receive(
      with_hosts({host("a.example")}), "w1",
      R"({"type":"sandbox_permission_request","requestId":"sandbox-1-aaaaaaa","workerName":"w1","hostPattern":"a.example","timestamp":"t"})"));
  CHECK(only_text(asked.posts) == answer("a.example", true));
}

}  // namespace inbox_poller::handlers::sandbox_test

// A small team for the handlers' tests: two workers, one that left, one outsider whose chat is welcome.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/dispatch.hpp"
#include "schema/codec.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::testing {

inline constexpr EpochMs noon = 1'790'000'000'000;  // 2026-09-21T14:13:20.000Z

struct Team {
  config::TeamConfig config;
  Membership membership;
  schema::Roster roster;
  std::string name = "falcon";
  std::string lead = "team-lead";
  std::vector<std::string> former{"old-hand"};

  Team() {
    config.team.name = "fal*";
    config.delivery.allowed_senders = {"user"};
    roster.name = name;
    for (const char* member : {"team-lead", "w1", "w2"}) {
      schema::Member entry;
      entry.name = member;
      entry.cwd = "/repo";
      roster.members.push_back(entry);
    }
  }

  [[nodiscard]] TeamView view() const {
    return {config, roster, name, lead, config.permissions.rules, config.sandbox.hosts, former, "/home/u", membership};
  }
};

inline config::PermissionRule rule(std::string_view text) {
  auto parsed = config::parse_permission_rule(text);
  if (!parsed) throw std::invalid_argument(parsed.error().message);
  return *parsed;
}

inline config::HostPattern host(std::string_view text) {
  auto parsed = config::parse_host_pattern(text);
  if (!parsed) throw std::invalid_argument(parsed.error().message);
  return *parsed;
}

/// What comes of `text` when `from` writes it, into the lead's inbox unless told otherwise.
inline Outcome receive(const Team& team, std::string_view from, std::string_view text, const RequestView& known = {},
                       EpochMs now = noon, Place place = Place::lead) {
  schema::Message message;
  message.from = from;
  message.text = text;
  const schema::MessageKey key{"0123456789abcdef0123456789abcdef"};
  return dispatch({message, key, now, place}, schema::decode_payload(text), team.view(), known);
}

/// The alternative that is expected, or a failed test that says why it is another.
template <class T>
T expect(const Outcome& outcome) {
  const auto* refused = std::get_if<Refused>(&outcome);
  INFO(outcome.index() << (refused ? " " + refused->code + ": " + refused->reason : ""));
  REQUIRE(std::holds_alternative<T>(outcome));
  return std::get<T>(outcome);
}

inline std::string permission_request(std::string_view tool, std::string_view input,
                                      std::string_view id = "perm-1-aaaaaaa", std::string_view agent = "w1") {
  return R"({"type":"permission_request","request_id":")" + std::string(id) + R"(","agent_id":")" + std::string(agent) +
         R"(","tool_name":")" + std::string(tool) + R"(","tool_use_id":"toolu_1","description":"List files","input":)" +
         std::string(input) +
         R"(,"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow",)"
         R"("destination":"userSettings"}]})";
}

inline std::string sandbox_request(std::string_view wanted, std::string_view id = "sandbox-1-aaaaaaa") {
  return R"({"type":"sandbox_permission_request","requestId":")" + std::string(id) +
         R"(","workerId":"w1@falcon","workerName":"w1","workerColor":"blue","hostPattern":{"host":")" +
         std::string(wanted) + R"("},"createdAt":1790000000000})";
}

inline std::string plan_request(std::string_view plan, std::string_view id = "plan_approval-1@w1@falcon") {
  return R"({"type":"plan_approval_request","from":"w1","timestamp":"2026-09-21T14:13:19.000Z",)"
         R"("planFilePath":"/home/u/.claude/plans/p.md","planContent":")" +
         std::string(plan) + R"(","requestId":")" + std::string(id) + R"("})";
}

/// A request that the (empty) rules leave to a person.
inline Request pending(const Team& team, std::string_view text) {
  const auto asked = expect<Asked>(receive(team, "w1", text));
  REQUIRE(asked.request.state == RequestState::pending);
  return asked.request;
}

/// The payload text of the only message.
inline std::string only_text(const std::vector<Post>& posts) {
  REQUIRE(posts.size() == 1);
  return posts.front().message.text;
}

}  // namespace inbox_poller::handlers::testing

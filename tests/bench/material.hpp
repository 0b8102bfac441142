// What pure_bench and hot_paths work on: the same inbox, the same request, the same rule.
#pragma once

#include <string>

#include "handlers/dispatch.hpp"
#include "poller/ledger/ledger.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "schema/codec.hpp"
#include "schema/ids.hpp"
#include "tests/bench/options.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::bench {

/// An inbox of about this size, in entries of about 400 bytes that are read.
inline std::string inbox_of_bytes(std::size_t bytes) {
  std::vector<std::string> entries;
  for (std::size_t size = 0; size < bytes; size += entries.back().size() + 4)
    entries.push_back(
        test::entry("message " + std::to_string(entries.size()) + " " + std::string(280, 'x'), "true", "w1"));
  return test::inbox_of(entries);
}

inline std::string permission_request(const std::string& id) {
  return R"({"type":"permission_request","request_id":")" + id +
         R"(","agent_id":"w1","tool_name":"Bash","tool_use_id":"toolu_1","description":"status",)"
         R"("input":{"command":"git status -s"},"permission_suggestions":[]})";
}

inline config::PermissionRule rule(const char* text) {
  auto parsed = config::parse_permission_rule(text);
  if (!parsed) give_up(parsed.error().message);
  return *parsed;
}

inline poller::MessageRow message_row(std::size_t number) {
  poller::MessageRow row;
  row.team = "falcon";
  row.inbox = "team-lead";
  row.sender = "w1";
  row.type = "chat";
  row.message = {row.sender, "message " + std::to_string(number) + " " + std::string(280, 'x'), "",
                 "2026-02-07T15:20:46.348Z", "", ""};
  row.key = schema::make_message_key({row.team, row.inbox}, row.sender, row.message.timestamp, row.message.text, 0);
  row.received_ms = 1'790'000'000'000;
  row.delivery = poller::DeliveryState::queued;
  return row;
}

/// A permission request decided by rule, from the text of the message to the bytes of the answer.
class Decision {
 public:
  Decision() {
    for (const char* one : {"Bash(npm test:*)", "Bash(ls:*)", "Bash(git status:*)"})
      config_.permissions.rules.allow.push_back(rule(one));
    config_.permissions.rules.deny.push_back(rule("Bash(rm:*)"));
    roster_.name = "falcon";
    for (const char* name : {"team-lead", "w1", "w2"}) {
      schema::Member member;
      member.name = name;
      member.cwd = "/repo";
      roster_.members.push_back(member);
    }
    message_.from = "w1";
    message_.text = permission_request("perm-1-aaaaaaa");
  }

  /// The size of what is to be written; it ends the program when no rule decided.
  [[nodiscard]] std::size_t take() const {
    const std::vector<std::string> former;
    const handlers::TeamView view{
        config_, roster_,  roster_.name, "team-lead", config_.permissions.rules, config_.sandbox.hosts,
        former,  "/home/u", membership_};
    const auto outcome = handlers::dispatch({message_, key_, 1'790'000'000'000, handlers::Place::lead},
                                            schema::decode_payload(message_.text), view, {});
    const auto* asked = std::get_if<handlers::Asked>(&outcome);
    if (asked == nullptr || asked->posts.size() != 1) give_up("the rule did not decide");
    return poller::encode_entry(asked->posts.front().message).size();
  }

 private:
  config::TeamConfig config_;
  handlers::Membership membership_;
  schema::Roster roster_;
  schema::Message message_;
  schema::MessageKey key_{"0123456789abcdef0123456789abcdef"};
};

}  // namespace inbox_poller::bench

// Texts that a worker wrote at the end of its turn and did not send.
#include "handlers/unsent_report.hpp"

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::unsent_report_test {

using namespace testing;
using config::UnsentPolicy;

namespace {

Team with(UnsentPolicy policy) {
  Team team;
  team.config.delivery.unsent_reports = policy;
  return team;
}

std::optional<Lane> lane_of(const Team& team, const EndedTurn& turn, const Arrival& arrival = {"w1"}) {
  return judge(turn, arrival, team.view());
}

schema::HookEvent stop(const std::string& text, const std::string& prompt = "p-1") {
  schema::HookEvent event;
  event.name = "Stop";
  event.session_id = "s";
  event.prompt_id = prompt;
  event.last_assistant_message = text;
  return event;
}

bool is_said(const std::string& text) { return is_said_to_lead(schema::type_name(schema::decode_payload(text))); }

std::string typed(const std::string& type) { return R"({"type":")" + type + R"("})"; }

}  // namespace

TEST_CASE("the setting decides how a text that was not sent reaches the lead") {
  CHECK(lane_of(Team(), {"a report"}) == Lane::digest);
  CHECK(lane_of(with(UnsentPolicy::digest), {"a report"}) == Lane::digest);
  CHECK(lane_of(with(UnsentPolicy::first_lines), {"a report"}) == Lane::chat);
  CHECK(lane_of(with(UnsentPolicy::whole), {"a report"}) == Lane::chat);
  CHECK(lane_of(with(UnsentPolicy::off), {"a report"}) == std::nullopt);
}

TEST_CASE("a turn without words, with a message to the lead, or with an error gives nothing") {
  const auto team = with(UnsentPolicy::whole);
  for (const char* text : {"", " ", "\n\t \r\n", "\xC2\xA0\xE2\x80\x8B\xE2\x80\xA8", "\x1b"})
    CHECK(lane_of(team, {text}) == std::nullopt);
  CHECK(lane_of(team, {" . "}) == Lane::chat);
  CHECK(lane_of(team, {"a report", false, true}) == std::nullopt);
  CHECK(lane_of(team, {"API Error: 500", true, false}) == std::nullopt);
}

TEST_CASE("a lead that consumes its inbox itself gets nothing of it") {
  for (const auto policy : {UnsentPolicy::digest, UnsentPolicy::first_lines, UnsentPolicy::whole})
    for (const auto role : {EffectiveRole::paused, EffectiveRole::interceptor, EffectiveRole::observer,
                              EffectiveRole::standby, EffectiveRole::follower}) {
      auto team = with(policy);
      team.membership.role = role;
      CHECK(lane_of(team, {"a report"}) == Lane::none);
    }
}

TEST_CASE("a text without room among the chat is summed up") {
  auto team = with(UnsentPolicy::whole);
  team.config.limits.queued_chat = 12;  // 4 for each of the three senders
  CHECK(lane_of(team, {"a report"}, {"w1", false, 11, 3}) == Lane::chat);
  CHECK(lane_of(team, {"a report"}, {"w1", false, 12, 3}) == Lane::digest);
  CHECK(lane_of(team, {"a report"}, {"w1", false, 5, 4}) == Lane::digest);
}

TEST_CASE("messages of the model count as sent to the lead, those of its client do not") {
  for (const auto* text : {"done", "", "{}"}) CHECK(is_said(text));
  CHECK(is_said(typed("a_type_of_tomorrow")));
  CHECK(is_said(plan_request("do it")));
  CHECK(is_said(R"({"type":"shutdown_approved","requestId":"shutdown-1@w1","from":"w1","timestamp":"t"})"));
  CHECK_FALSE(is_said(R"({"type":"idle_notification","from":"w1","timestamp":"t","idleReason":"available"})"));
  CHECK_FALSE(is_said(permission_request("Bash", R"({"command":"ls"})")));
  CHECK_FALSE(is_said(sandbox_request("example.org")));
}

TEST_CASE("a turn is known by its session, its prompt and its text") {
  const auto id = turn_of(stop("a report"));
  CHECK(id.is_exact);
  CHECK(turn_of(stop("a report")).value == id.value);
  CHECK(turn_of(stop("another report")).value != id.value);
  CHECK(turn_of(stop("a report", "p-2")).value != id.value);
  auto other = stop("a report");
  other.session_id = "s-2";
  CHECK(turn_of(other).value != id.value);
  CHECK_FALSE(turn_of(stop("a report", "")).is_exact);
}

TEST_CASE("no worker can write a message of the type of a kept text") {
  CHECK(expect<Refused>(receive(Team(), "w1", typed("unsent_report"))).code == "payload.unknown");
}

TEST_CASE("the lead gets the first lines or all of a text, with its size and how to read the rest") {
  const std::string key = "0f3a9c21ab127788990011223344556677";
  std::string text;
  for (int i = 1; i <= 12; ++i) text += "line " + std::to_string(i) + "\n";
  const auto first = shown_report(text, key, false, 1 << 20);
  CHECK(first.before == "[not sent: written by the worker at the end of its turn, in which it sent you nothing]");
  CHECK(first.text.ends_with("line 9\nline 10"));
  CHECK(first.after == "[cut: 70 of 87 bytes shown; all of it: inbox-poller history 0f3a9c21ab12]");
  CHECK(shown_report(std::string(5000, 'x'), key, false, 1 << 20).text.size() == 1000);
  const auto whole = shown_report(text, key, true, 1 << 20);
  CHECK(whole.text == text);
  CHECK(whole.after.empty());
  CHECK(shown_report(text, key, true, 10).text == "line 1\nlin");
  CHECK(shown_report("one line", key, false, 1 << 20).after.empty());
  CHECK(shown_report("\xE2\x82\xAC", key, true, 2).text.empty());  // no half of a character
}

}  // namespace inbox_poller::handlers::unsent_report_test

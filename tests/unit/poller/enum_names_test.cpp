// Names that stand on the wire, in the ledger, in the log and in configurations: byte for byte, every one.
#include "config/config.hpp"
#include "handlers/answers_count.hpp"
#include "handlers/gate.hpp"
#include "handlers/hook_proof.hpp"
#include "handlers/request_state.hpp"
#include "handlers/rights.hpp"
#include "handlers/shutdown.hpp"
#include "handlers/worker_state.hpp"
#include "poller/changes.hpp"
#include "poller/cli/doctor/finding.hpp"
#include "poller/cli/survey.hpp"
#include "poller/ledger/rows.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "schema/lead_screen.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::enum_names_test {

namespace {

/// What the compiler calls this value: its identifier, or, where it has none, a cast.
template <auto value>
constexpr bool has_identifier() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const auto at = text.find("value = ");
  return at != std::string_view::npos && text.substr(at + 8).find('(') == std::string_view::npos;
}

template <class Enum>
std::string all() {
  constexpr auto count = schema::values<Enum>.size();
  static_assert(has_identifier<static_cast<Enum>(count - 1)>() && !has_identifier<static_cast<Enum>(count)>(),
                "each value has its name");
  std::string text;
  for (const auto value : schema::values<Enum>) {
    CHECK(schema::parse<Enum>(schema::name_of(value)) == value);
    if (value != schema::values<Enum>.front()) text += ' ';
    text += schema::name_of(value);
  }
  CHECK(schema::name_of(static_cast<Enum>(count)).empty());
  CHECK(schema::name_of(static_cast<Enum>(-1)).empty());
  for (const auto* other : {"Idle", " idle", "idle ", "none of them", "0"}) CHECK_FALSE(schema::parse<Enum>(other).has_value());
  return text;
}

}  // namespace

TEST_CASE("the names of states, events and kinds are what they always were") {
  using namespace handlers;
  CHECK(all<RequestKind>() == "permission sandbox plan stop");
  CHECK(all<RequestState>() == "received pending approved denied expired withdrawn answered_elsewhere");
  CHECK(all<RequestEvent>() ==
        "rule_allows rule_denies rule_asks person_approves person_denies deadline_passes asker_leaves answered_by_other");
  CHECK(all<ShutdownState>() == "requested approved forced process_gone pane_gone cleaned rejected timed_out");
  CHECK(all<ShutdownEvent>() ==
        "worker_approves worker_rejects force_is_due process_ends pane_closes traces_removed time_passes");
  CHECK(all<LeadState>() == "idle busy offline");
  CHECK(all<LeadEvent>() ==
        "reports_busy reports_idle reports_offline session_starts prompt_submitted tool_used turn_stops turn_continues "
        "turn_fails turn_interrupted prompt_waits session_ends stream_opens stream_works stream_result stream_closes "
        "session_works session_rests batch_pushed busy_limit_passes disconnects");
  CHECK(all<OfferingHook>() == "prompt tool stop wait");
  CHECK(all<HookSign>() == "prompt tool stop held failure idle end");
  CHECK(all<Transcript>() == "has given lacks silent");
  CHECK(all<Proof>() == "open proven back");
  CHECK(all<WorkerState>() == "idle busy waiting failed unresponsive gone");
  CHECK(all<EffectiveRole>() == "leader paused interceptor observer standby follower");
  CHECK(all<Answers>() == "count verified presumed verified");
}

TEST_CASE("the names in configurations, in the ledger and on screens are what they always were") {
  using namespace config;
  CHECK(all<Action>() == "deny ask allow");
  CHECK(all<PermissionMode>() == "plan default acceptEdits auto dontAsk bypassPermissions");
  CHECK(all<Role>() == "leader interceptor observer follower");
  CHECK(all<OnCompetingConsumer>() == "stop observe ignore");
  CHECK(all<Backend>() == "claude-code jsonl maildir redis");
  CHECK(all<Answerer>() == "person lead both");
  CHECK(all<DeliveryMethod>() == "mcp stdin hook channel socket exec file tmux");
  CHECK(all<IdlePolicy>() == "state digest all");
  CHECK(all<UnknownPolicy>() == "deliver hold");
  CHECK(all<LogLevel>() == "debug info warn error");
  CHECK(all<LogFormat>() == "auto text json");
  CHECK(all<poller::Disposition>() == "chat control status rejected duplicate malformed");
  CHECK(all<poller::DeliveryState>() == "none queued offered delivered expired");
  CHECK(all<poller::Confirmation>() == " acknowledged assumed");
  CHECK(all<poller::EffectState>() == "pending written done dead");
  CHECK(all<poller::Area>() == "requests workers chat teams shutdowns");
  CHECK(all<poller::BoxState>() == "ok missing empty torn not_regular too_large locked fault");
  CHECK(all<schema::ClientMode>() == "interactive headless unknown");
  CHECK(all<schema::ScreenKind>() == "empty_prompt draft running dialog menu transcript unknown");
  CHECK(all<poller::cli::Severity>() == "ok note warning error");
  CHECK(all<poller::cli::Whose>() == "lead member alias sender orphaned unknown");
}

}  // namespace inbox_poller::enum_names_test

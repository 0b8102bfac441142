#include "handlers/hook_policy.hpp"

#include <algorithm>
#include <iterator>

#include "handlers/lead_session.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {
namespace {

using schema::HookEvent;

constexpr int most_held = 6;      // the client overrides the eighth, whose messages would be lost
constexpr int most_pointers = 3;  // at the same message, unless a person is there
constexpr std::size_t longest_list_of_names = 500;

constexpr bool ignore_busy = true;
constexpr bool lets_go = true;
constexpr std::optional<LeadEvent> nothing = {};
constexpr std::optional<OfferingHook> nobody = {};

struct Row {
  std::string_view event;
  HookPlan plan;
};

// Defaults; plan_of() removes what does not apply.
constexpr Row rows[] = {
    {"SessionStart", {LeadEvent::session_starts, nobody, !ignore_busy, true, !lets_go, false}},
    {"UserPromptSubmit", {LeadEvent::prompt_submitted, OfferingHook::prompt, ignore_busy, false, lets_go, true}},
    {"PreToolUse", {LeadEvent::tool_used, nobody, !ignore_busy, false, !lets_go, false}},
    {"PostToolUse", {LeadEvent::tool_used, OfferingHook::tool, !ignore_busy, false, !lets_go, false}},
    {"Stop",
     {nothing, OfferingHook::stop, ignore_busy, false, !lets_go, false, LeadEvent::turn_continues, LeadEvent::turn_stops}},
    {"StopFailure", {LeadEvent::turn_fails, nobody, !ignore_busy, false, lets_go, false}},
    // Also with the reasons `clear` and `resume`: the session then continues under another id.
    {"SessionEnd", {LeadEvent::session_ends, nobody, !ignore_busy, false, lets_go, false}},
    // A person may have interrupted the turn, which no event reports.
    {"Notification", {LeadEvent::prompt_waits, nobody, !ignore_busy, false, !lets_go, false}},
};

}  // namespace

HookPlan plan_of(const HookEvent& event, const HookFacts& facts) {
  const auto sign = sign_of(event);
  const bool is_busy = facts.lead == LeadState::busy;
  const std::string name = event.name == "Stop" && sign == HookSign::failure ? "StopFailure" : event.name;
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& one) { return one.event == name; });
  if (row == std::end(rows)) return {};
  HookPlan plan = row->plan;
  plan.backlog = plan.backlog && facts.hook_is_first;
  // The client may compact within a turn.
  if (name == "SessionStart" && event.source == "compact" && is_busy) plan.told = LeadEvent::tool_used;
  if (name == "Notification" && !(is_busy && sign == HookSign::idle)) plan.told = nothing;
  if (name == "Stop") {
    // Held by another hook, or before a restart: the count is unknown, so the turn may end.
    const bool is_others = event.stop_hook_active && facts.held == 0;
    if (is_others || facts.held >= most_held) plan.offers = nobody;
    // A turn was running until now, whatever state was presumed.
    if (plan.offers && !is_busy) plan.told = LeadEvent::tool_used;
  }
  // A subagent's context is not the lead's.
  if (plan.offers == OfferingHook::tool && !facts.names_subagents) plan.offers = nobody;
  if (plan.offers && !reaches_model(*plan.offers, facts.mode)) plan.offers = nobody;
  return plan;
}

bool is_pointed_at(const HookEvent& event, int attempts) {
  return attempts <= most_pointers || event.name == "UserPromptSubmit";
}

bool tells_of_worker(const HookEvent& event) { return event.name == "TeammateIdle" || event.name == "TaskCompleted"; }

std::string why_no_worker_of(const HookEvent& event, std::string_view team, bool present, bool is_other_team) {
  if (present && !is_other_team) return {};
  return "\"" + event.teammate_name + "\" is not a worker of team " + std::string(team);
}

bool gives_way(std::string_view waiting, std::string_view newcomer, const HookEvent& of_newcomer,
               std::string_view live) {
  return waiting != newcomer && (begins(of_newcomer) || newcomer == live || waiting != live);
}

std::string backlog_line(std::string_view team, std::size_t count, const std::set<std::string>& senders) {
  std::string from;
  for (const auto& name : senders)
    if (from.size() < longest_list_of_names) from += (from.empty() ? ", from " : ", ") + name;
  return std::to_string(count) + (count == 1 ? " message" : " messages") + " for the lead of team " +
         schema::printable(team) + " waiting in inbox-poller" + from +
         ". This prints them: inbox-poller recv --ignore-busy --team " + schema::shell_word(team);
}

}  // namespace inbox_poller::handlers

// The meaning of an event of the lead's session for the lead, and the answer of the hook: one table, a row per event.
// lead_session.hpp judges whether the event is of the lead's session. hook_proof.hpp judges whether the model got the
// answer. Pure. Source: docs/reference/control.md, the verb `hook`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "handlers/gate.hpp"
#include "handlers/handler.hpp"
#include "handlers/hook_proof.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// Data known when the event arrives.
struct HookFacts {
  LeadState lead = LeadState::idle;
  int held = 0;  // consecutive ends of turns of this session that were answered with messages
  schema::ClientMode mode = schema::ClientMode::unknown;
  bool names_subagents = false;  // a tool's event says whether it is a subagent's
  bool hook_is_first = false;    // no available delivery method precedes the hooks in delivery.methods
};

/// The actions after an event, in this order.
struct HookPlan {
  std::optional<LeadEvent> told;  // event of the lead
  std::optional<OfferingHook> offers;  // offers available messages by this hook
  bool ignore_busy = false;         // even while the lead is busy
  bool backlog = false;           // prints how many messages wait
  bool lets_go = false;           // resets the count of held ends
  bool confirms_prompt = false;   // the text pasted into the lead's terminal may be this prompt
  // After the offer, depending on its result:
  std::optional<LeadEvent> handed_over = {};
  std::optional<LeadEvent> nothing_left = {};
};
/// Returns the actions after an event; none for unknown events.
HookPlan plan_of(const schema::HookEvent&, const HookFacts&);

/// Returns true if a line points at a message that is too long for a hook. `attempts`: how often the message was
/// offered.
bool is_pointed_at(const schema::HookEvent&, int attempts);

/// Returns true for the events that report a worker: TeammateIdle and TaskCompleted.
bool tells_of_worker(const schema::HookEvent&);
/// Returns why the event reports no worker of the team, in whatever session it ran; empty if it does. `present`: the
/// name is a worker's. `is_other_team`: the event names another served team.
std::string why_no_worker_of(const schema::HookEvent&, std::string_view team, bool present, bool is_other_team);

/// Returns true if a hook that waits for an idle lead gives way to another one, because the lead continues as the
/// newcomer's session. `waiting`, `newcomer`: their sessions; `live`: the session of the last event.
bool gives_way(std::string_view waiting, std::string_view newcomer, const schema::HookEvent& of_newcomer,
               std::string_view live);

/// Returns the line for the lead: "2 messages for the lead of team demo waiting in inbox-poller, from ada, bob. …".
std::string backlog_line(std::string_view team, std::size_t count, const std::set<std::string>& senders);

}  // namespace inbox_poller::handlers

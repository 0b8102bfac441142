// What an event of the lead's session tells of the lead, and what its hook answers: one table, a row an event. Whether
// the event is of the lead's session at all: lead_session.hpp. Whether the model got the answer: hook_proof.hpp. Pure.
// Source: docs/reference/control.md, the verb `hook`.
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

/// What is known when the event comes.
struct HookFacts {
  LeadState lead = LeadState::idle;
  int held = 0;  // ends of turns of this session, in a row, that were answered with messages
  schema::ClientMode mode = schema::ClientMode::unknown;
  bool names_subagents = false;  // an event of a tool says whether it is a subagent's
  bool hook_is_first = false;    // no way that can be used stands above the hooks on the ladder
};

/// What is done, in this order.
struct HookPlan {
  std::optional<LeadEvent> told;  // of the lead
  std::optional<HookWay> offers;  // messages that may go now are handed over
  bool even_busy = false;         // whatever the lead is doing
  bool backlog = false;           // a line says how many wait
  bool lets_go = false;           // the row of held ends is over
  bool confirms_prompt = false;   // what was pasted into the lead's terminal may be this prompt
  // After the offer, where there is more to tell:
  std::optional<LeadEvent> handed_over = {};
  std::optional<LeadEvent> nothing_left = {};
};
/// Events that are not known: nothing.
HookPlan plan_of(const schema::HookEvent&, const HookFacts&);

/// Messages that are too long for a hook: whether a line points at the first of them, offered so many times.
bool is_pointed_at(const schema::HookEvent&, int attempts);

/// What a hook beside the lead's session tells of a worker.
bool tells_of_worker(const schema::HookEvent&);
/// Why this tells of no worker of the team, in whichever session it ran; empty when it does. `present`: the name is a
/// worker's. `is_other_team`: it names another team that is served.
std::string why_no_worker_of(const schema::HookEvent&, std::string_view team, bool present, bool is_other_team);

/// Whether a hook that waits beside an idle lead gives way to another one: the lead goes on as another session, and that
/// is the newcomer's. `waiting`, `newcomer`: the sessions they wait for; `live`: the one that was heard last.
bool gives_way(std::string_view waiting, std::string_view newcomer, const schema::HookEvent& of_newcomer,
               std::string_view live);

/// "2 messages for the lead of team demo waiting in inbox-poller, from ada, bob. …"
std::string backlog_line(std::string_view team, std::size_t count, const std::set<std::string>& senders);

}  // namespace inbox_poller::handlers

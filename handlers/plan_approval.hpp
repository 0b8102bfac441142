// A worker in plan mode submits its plan. The decision is bound to the plan's text; its file is named, never opened (it
// may have changed since, or be somebody else's secret). Source: docs/reference/wire.md W19.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "handlers/outgoing.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times.
Ask draft_of(const schema::PlanApprovalRequest&);

/// As configured; but an empty plan, and one that comes again and again, goes to a person.
config::Verdict judge(const schema::PlanApprovalRequest&, std::string_view asker, const TeamView&, const AskView&);

/// The payload of the answer; `mode` is what an approval sets.
std::string plan_answer(const Ask& decided, config::PermissionMode mode);
std::string plan_card(const Ask&, std::string_view before);

/// When a worker whose plan was approved is reminded, if it was asked and answered in one breath: newest clients lose
/// an approval that they read in the moment their turn ends. 0: not at all.
EpochMs plan_reminder_due(const Ask& decided);
/// True when a message of the worker tells that it goes on: anything but the end of the turn in which it asked.
bool shows_going_on(const Ask& decided, std::string_view type, EpochMs received_ms);
/// What is known of that worker since then.
struct SincePlan {
  bool has_answer = false;      // it has taken all that was written under the plan's id
  bool was_reminded = false;
  bool shows_going_on = false;  // one of its messages does
  std::string_view state;       // as it told last, or a hook of its client
  EpochMs last_seen_ms = 0;     // when
};
/// True when it has the approval and said nothing since, so that a reminder helps.
bool is_silent_since(const Ask& decided, const SincePlan&);
/// The reminder: plain words, the same for the same plan.
Post plan_reminder(const Ask& decided, const TeamView&);

}  // namespace inbox_poller::handlers

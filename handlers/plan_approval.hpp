// A plan that a worker in plan mode submits. The decision is bound to the plan's text. Its file is named but never
// opened, because it may have changed or be a secret. Source: docs/reference/wire.md W19.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "handlers/outgoing.hpp"

namespace inbox_poller::handlers {

/// Returns the request without worker and times.
Request draft_of(const schema::PlanApprovalRequest&);

/// Decides as configured; an empty plan, and one that was submitted plans.max_resubmissions times, goes to a person.
config::Verdict judge(const schema::PlanApprovalRequest&, std::string_view asker, const TeamView&, const RequestView&);

/// Returns the payload of the answer. `mode`: the worker's mode after an approval.
std::string plan_answer(const Request& decided, config::PermissionMode mode);
std::string plan_card(const Request&, std::string_view before);

/// Returns when the worker of an approved plan is reminded, or 0: never. Only after an approval within seconds, which
/// the newest clients lose if they read it while their turn ends.
EpochMs plan_reminder_due(const Request& decided);
/// Returns true if a message shows that the worker continues: any message but the end of the turn that submitted the
/// plan.
bool shows_going_on(const Request& decided, std::string_view type, EpochMs received_ms);
/// Data about the worker since the decision.
struct SincePlan {
  bool has_answer = false;      // the worker has read all messages under the plan's id
  bool was_reminded = false;
  bool shows_going_on = false;  // a message shows that the worker continues
  WorkerReport state = WorkerReport::none;  // of the last report, or of a hook of its client
  EpochMs last_seen_ms = 0;
};
/// Returns true if the worker has the approval and was silent since, so that a reminder may help.
bool is_silent_since(const Request& decided, const SincePlan&);
/// Returns the reminder: plain text, the same for the same plan.
Post plan_reminder(const Request& decided, const TeamView&);

}  // namespace inbox_poller::handlers

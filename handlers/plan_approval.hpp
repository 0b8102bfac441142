// A worker in plan mode submits its plan. The decision is bound to the plan's text; its file is named, never opened (it
// may have changed since, or be somebody else's secret). Source: protocol.md 3.5, section 5 and A.2.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times.
Request draft_of(const schema::PlanApprovalRequest&);

/// As configured; but an empty plan, and one that comes again and again, goes to a person.
config::Verdict judge(const schema::PlanApprovalRequest&, std::string_view asker, const TeamView&, const RequestView&);

/// The payload of the answer; `mode` is what an approval sets.
std::string plan_answer(const Request& decided, config::PermissionMode mode);

}  // namespace inbox_poller::handlers

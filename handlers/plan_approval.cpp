#include "handlers/plan_approval.hpp"

#include "schema/codec.hpp"

namespace inbox_poller::handlers {

Request draft_of(const schema::PlanApprovalRequest& ask) {
  Request request;
  request.kind = RequestKind::plan;
  request.request_id = ask.request_id;
  request.content_hash = schema::content_hash(ask.plan_content);
  request.subject = ask.plan_file_path;
  request.body = ask.plan_content;
  return request;
}

config::Verdict judge(const schema::PlanApprovalRequest& ask, std::string_view, const TeamView& view,
                      const RequestView& known) {
  const config::PlanSettings& plans = view.config.plans;
  if (known.same_plan_count >= plans.loop_limit) {
    return {config::Action::ask, "plans.loop_limit",
            "this plan was submitted " + std::to_string(known.same_plan_count) + " times before; a person decides"};
  }
  if (ask.plan_content.find_first_not_of(" \t\r\n") == std::string::npos) {
    return {config::Action::ask, "", "the plan is empty"};
  }
  return {plans.decision, "plans.decision", "as the configuration says for every plan"};
}

std::string plan_answer(const Request& decided, config::PermissionMode mode) {
  return schema::encode(schema::PlanApprovalResponse{.request_id = decided.request_id,
                                                     .approved = decided.state == RequestState::approved,
                                                     .feedback = decided.reason,
                                                     .timestamp = schema::iso_timestamp(decided.decided_ms),
                                                     .permission_mode = std::string(config::to_string(mode))});
}

}  // namespace inbox_poller::handlers

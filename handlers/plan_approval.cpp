#include "handlers/plan_approval.hpp"

#include "handlers/orders.hpp"
#include "schema/codec.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

namespace {

constexpr EpochMs one_breath_ms = 5'000;
/// Most workers that continue have sent something by then.
constexpr EpochMs reminder_after_ms = 60'000;

}  // namespace

Request draft_of(const schema::PlanApprovalRequest& asked) {
  Request request;
  request.kind = RequestKind::plan;
  request.request_id = asked.request_id;
  request.content_hash = schema::content_hash(asked.plan_content);
  request.subject = asked.plan_file_path;
  request.body = asked.plan_content;
  return request;
}

config::Verdict judge(const schema::PlanApprovalRequest& asked, std::string_view, const TeamView& view,
                      const RequestView& known) {
  const config::PlanSettings& plans = view.config.plans;
  if (known.same_plan_count >= plans.max_resubmissions) {
    return {config::Action::ask, "plans.max_resubmissions",
            "this plan was submitted " + std::to_string(known.same_plan_count) + " times before; a person decides"};
  }
  if (asked.plan_content.find_first_not_of(" \t\r\n") == std::string::npos) {
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

std::string plan_card(const Request& request, std::string_view before) {
  const std::string file = request.subject.empty() ? "(no file)" : schema::printable(request.subject);
  return std::string(before) + file + "\n" + schema::printable_block(request.body, before);
}

EpochMs plan_reminder_due(const Request& decided) {
  const bool at_once = decided.decided_ms - decided.asked_ms < one_breath_ms;
  return decided.kind == RequestKind::plan && decided.state == RequestState::approved && at_once
             ? decided.decided_ms + reminder_after_ms
             : 0;
}

bool shows_going_on(const Request& decided, std::string_view type, EpochMs received_ms) {
  if (received_ms < decided.decided_ms) return false;
  return type != "idle_notification" || received_ms - decided.decided_ms >= one_breath_ms;
}

bool is_silent_since(const Request& decided, const SincePlan& since) {
  const bool works = since.state != WorkerReport::idle && since.last_seen_ms > decided.decided_ms;
  return since.has_answer && !since.was_reminded && !since.shows_going_on && !works;
}

Post plan_reminder(const Request& decided, const TeamView& view) {
  const std::string text = "Reminder: your plan (request " + decided.request_id +
                           ") was approved, and you are out of plan mode. Begin with it now if you have not; if you "
                           "are at it already, go on and do not answer this.";
  return order_to(decided.asker, text, decided.request_id + " reminder", view, plan_reminder_due(decided));
}

}  // namespace inbox_poller::handlers

#include "handlers/status.hpp"

#include "handlers/text.hpp"

namespace inbox_poller::handlers {

namespace {

WorkerStatus report(WorkerReport state, std::string detail, const config::DeliverySettings& delivery, std::string task,
                    bool went_wrong = false) {
  WorkerStatus status{state, std::move(detail), false, std::move(task), went_wrong, false};
  status.to_lead = went_wrong || delivery.idle == config::IdlePolicy::all;
  status.in_digest = !status.to_lead && delivery.idle == config::IdlePolicy::digest;
  return status;
}

/// Returns "7: Build the parser"; empty if no task is named.
std::string task_line(std::string_view id, std::string_view subject) {
  if (id.empty()) return {};
  return one_line(std::string(id) + (subject.empty() ? "" : ": " + std::string(subject)));
}

/// Returns the most significant detail of a finished turn.
std::string idle_detail(const schema::IdleNotification& idle, const std::string& task) {
  if (!idle.failure_reason.empty()) return one_line(idle.failure_reason);
  return task.empty() ? one_line(idle.summary) : "task " + task;
}

}  // namespace

WorkerStatus status_of(const schema::IdleNotification& idle, const config::DeliverySettings& delivery) {
  const auto state = idle.idle_reason == "failed"        ? WorkerReport::failed
                     : idle.idle_reason == "interrupted" ? WorkerReport::interrupted
                                                         : WorkerReport::idle;
  const std::string task = task_line(idle.completed_task_id, idle.completed_status);
  return report(state, idle_detail(idle, task), delivery, task, state != WorkerReport::idle);
}

WorkerStatus status_of(const schema::TaskAssignment& assigned, const config::DeliverySettings& delivery) {
  const std::string task = task_line(assigned.task_id, assigned.subject);
  return report(WorkerReport::assigned, "task " + task, delivery, task);
}

WorkerStatus status_of(const schema::TaskCompleted& completed, const config::DeliverySettings& delivery) {
  const std::string task = task_line(completed.task_id, completed.task_subject);
  return report(WorkerReport::completed, "task " + task, delivery, task);
}

}  // namespace inbox_poller::handlers

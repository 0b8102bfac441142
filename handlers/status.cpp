#include "handlers/status.hpp"

#include "handlers/text.hpp"

namespace inbox_poller::handlers {

namespace {

bool is_chat(const config::DeliverySettings& delivery) { return delivery.idle == config::IdlePolicy::all; }

std::string named_task(std::string_view id, std::string_view subject) {
  return one_line("task " + std::string(id) + (subject.empty() ? "" : ": " + std::string(subject)));
}

/// What is worth knowing about a finished turn, most telling first.
std::string idle_detail(const schema::IdleNotification& idle) {
  if (!idle.failure_reason.empty()) return one_line(idle.failure_reason);
  if (!idle.completed_task_id.empty()) return named_task(idle.completed_task_id, idle.completed_status);
  return one_line(idle.summary);
}

}  // namespace

WorkerStatus status_of(const schema::IdleNotification& idle, const config::DeliverySettings& delivery) {
  const bool went_wrong = idle.idle_reason == "failed" || idle.idle_reason == "interrupted";
  return {went_wrong ? idle.idle_reason : "idle", idle_detail(idle), went_wrong || is_chat(delivery)};
}

WorkerStatus status_of(const schema::TaskAssignment& task, const config::DeliverySettings& delivery) {
  return {"assigned", named_task(task.task_id, task.subject), is_chat(delivery)};
}

WorkerStatus status_of(const schema::TaskCompleted& task, const config::DeliverySettings& delivery) {
  return {"completed", named_task(task.task_id, task.task_subject), is_chat(delivery)};
}

}  // namespace inbox_poller::handlers

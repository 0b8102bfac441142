#include "handlers/status.hpp"

#include "handlers/text.hpp"

namespace inbox_poller::handlers {

namespace {

bool is_chat(const config::DeliverySettings& delivery) {
  switch (delivery.idle) {
    case config::IdlePolicy::state: return false;
    case config::IdlePolicy::all: return true;
  }
  return false;
}

std::string named_task(std::string_view id, std::string_view subject) {
  std::string line = "task ";
  line += id;
  if (!subject.empty()) (line += ": ") += subject;
  return one_line(line);
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

// The team's task board, as far as the lead's side writes to it.
#include "poller/team/team.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

/// Builds the message that a lead's own client sends about a task; plain text if workers do not know that message.
std::string told_of(const schema::Task& task, const std::string& lead, const config::BackendFacts& facts,
                    EpochMs now_ms) {
  if (!facts.reads_task_messages)
    return "Task " + task.id + " is yours: " + task.subject +
           (task.description.empty() ? std::string() : "\n" + task.description);
  const auto quoted = [](const std::string& text) { return schema::quote(text); };
  return "{\"type\":\"task_assignment\",\"taskId\":" + quoted(task.id) + ",\"subject\":" + quoted(task.subject) +
         ",\"description\":" + quoted(task.description) + ",\"assignedBy\":" + quoted(lead) +
         ",\"timestamp\":" + quoted(schema::iso_timestamp(now_ms)) + "}";
}

}  // namespace

Result<schema::Task> Team::assign(const std::string& task, const std::string& to, const std::string& by) {
  if (const auto why = handlers::why_no_worker(to, context_.view())) return Error{why->code, why->reason};
  if (context_.roster.find(to)->status == schema::ended_status)
    return Error{"member.ended", to + " has shut down, as its roster says: give the task to another worker"};
  const auto is_there = [&](const std::string& owner) {
    const auto* member = context_.roster.find(schema::bare_name(owner));
    return member != nullptr && member->status != schema::ended_status;
  };
  if (boxes_.board == nullptr)
    return Error{"task.not_free", "members of this mailbox system claim tasks themselves: inbox-poller mailbox claim"};
  const TaskAssigned assigned = boxes_.board->assign_task(task, to, is_there);
  switch (assigned.put) {
    case WriteStatus::done: break;
    case WriteStatus::unchanged: return Error{"task.assigned", "task " + task + " is " + to + "'s already"};
    case WriteStatus::gone: return Error{"task.unknown", "task " + task + " is not on the board of team " + context_.name + "; its tasks are the files in " + context_.config.team.task_folder(context_.name)};
    case WriteStatus::refused: return Error{"task.not_free", assigned.detail};
    case WriteStatus::busy:
    case WriteStatus::blocked:
    case WriteStatus::fault: return Error{"task.busy", assigned.detail + "; nothing was changed, try it again"};
  }
  TRY(context_.commit([&](Tx& tx) {
    tx.log(Event::task_assigned, {{"team", context_.name}, {"task_id", assigned.task.id}, {"member", to}, {"by", by}});
  }));
  TRY(send(to, told_of(assigned.task, context_.lead, context_.config.team.facts(), services_.clock.wall_ms()), ""));
  return assigned.task;
}

}  // namespace inbox_poller::poller

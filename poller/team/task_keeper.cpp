#include "poller/team/task_keeper.hpp"

#include <algorithm>
#include <utility>

#include "handlers/text.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::chrono::hours told_within{24};  // tasks finished earlier are not reported
constexpr std::size_t most_waiting = 1000;

Result<bool> is_told(const TeamState& context, const std::string& id) {
  TRY(const auto history, context.ledger.history().of_request(context.name, id));
  return std::any_of(history.begin(), history.end(),
                     [](const HistoryRow& row) { return row.event == event_name(Event::task_reported); });
}

class DoneTask final : public Job {
 public:
  DoneTask(TeamState& context, const schema::Envelope& task)
      : context_(context), id_(schema::identity_of(task)), task_(task.object()) {}

  [[nodiscard]] Program program() const override {
    const auto& tasks = context_.config.tasks;
    return {"tasks.done_command", tasks.done_command, tasks.done_timeout};
  }

  Result<std::optional<boost::json::object>> due() override {
    // Report the task if the ledger cannot tell: twice is better than never.
    if (const auto told = is_told(context_, id_); told && *told) return std::optional<boost::json::object>();
    return std::optional(boost::json::object{{"event", "done"}, {"team", context_.name}, {"task", task_}});
  }

  Status told() override {
    return context_.commit([&](Tx& tx) { tx.log(Event::task_reported, fields()); });
  }

  bool failed(const std::string& why, int) override {
    auto lines = fields();
    lines.emplace_back("reason", why + "; it is tried again");
    context_.telemetry.emit(Event::task_report_failed, lines);
    return false;
  }

 private:
  [[nodiscard]] Fields fields() const { return {{"team", context_.name}, {"task_id", id_}}; }

  TeamState& context_;
  const std::string id_;
  const boost::json::object task_;  // as stored, with its result
};

}  // namespace

void TaskKeeper::run_due() {
  if (tasks_ == nullptr || !look_.take(context_.clock.steady())) return;
  sweep();
  if (!context_.config.tasks.done_command.empty() && jobs_.size() < most_waiting) look_for_finished();
}

void TaskKeeper::sweep() {
  const auto swept = tasks_->sweep();
  std::string trouble = swept ? std::string() : swept.error().message;
  for (std::size_t i = 0; swept && i < swept->troubles.size(); ++i)
    trouble += (trouble.empty() ? "" : "; ") + swept->troubles[i].message;
  if (!trouble.empty() && trouble != trouble_)
    context_.telemetry.emit(Event::daemon_warning,
                            {{"team", context_.name}, {"reason", "the task queue: " + handlers::one_line(trouble, 1000)}});
  trouble_ = trouble;
  if (!swept || swept->gone.empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) {
    for (const TaskFile& one : swept->gone) {
      const bool is_dead = one.place == TaskPlace::dead;
      Fields fields{{"team", context_.name},
                    {"task_id", schema::identity_of(one.task)},
                    {"member", one.task.text("swept_from")},
                    {"state", is_dead ? "dead" : "open"}};
      if (is_dead) fields.emplace_back("reason", one.task.text("dead_reason"));
      tx.log(Event::task_released, std::move(fields));
    }
  }));
}

void TaskKeeper::look_for_finished() {
  const long long day = std::chrono::nanoseconds(told_within).count();
  const long long kept = std::chrono::nanoseconds(context_.config.limits.retention).count() / 2;
  auto found = tasks_->finished(context_.clock.system_ns() - std::min(day, kept));
  if (!found) return;  // the sweep reports the error
  for (const TaskFile& one : *found) {
    const auto told = is_told(context_, schema::identity_of(one.task));
    if (!told || !*told) jobs_.add(std::make_unique<DoneTask>(context_, one.task));
  }
}

}  // namespace inbox_poller::poller

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
                     [](const HistoryRow& row) { return row.event == event_name(Event::task_told); });
}

class DoneTask final : public Errand {
 public:
  DoneTask(TeamState& context, FinishedTask task) : context_(context), task_(std::move(task)) {}

  [[nodiscard]] Program program() const override {
    const auto& tasks = context_.config.tasks;
    return {"tasks.on_done", tasks.on_done, tasks.on_done_timeout};
  }

  Result<std::optional<boost::json::object>> due() override {
    // Report the task if the ledger cannot tell: twice is better than never.
    if (const auto told = is_told(context_, task_.id); told && *told) return std::optional<boost::json::object>();
    return std::optional(boost::json::object{{"event", "done"}, {"team", context_.name}, {"task", task_.task}});
  }

  Status told() override {
    return context_.commit([&](Tx& tx) { tx.log(Event::task_told, fields()); });
  }

  bool failed(const std::string& why, int) override {
    auto lines = fields();
    lines.emplace_back("reason", why + "; it is tried again");
    context_.telemetry.emit(Event::task_tell_failed, lines);
    return false;
  }

 private:
  [[nodiscard]] Fields fields() const { return {{"team", context_.name}, {"request_id", task_.id}}; }

  TeamState& context_;
  FinishedTask task_;
};

}  // namespace

void TaskKeeper::run_due() {
  if (tasks_ == nullptr || !look_.take(context_.clock.steady())) return;
  sweep();
  if (!context_.config.tasks.on_done.empty() && errands_.size() < most_waiting) look_for_finished();
}

void TaskKeeper::sweep() {
  const auto gone = tasks_->sweep();
  std::string trouble = gone ? std::string() : gone.error().message;
  for (const std::string& one : tasks_->troubles()) trouble += (trouble.empty() ? "" : "; ") + one;
  if (!trouble.empty() && trouble != trouble_)
    context_.telemetry.emit(Event::daemon_warning,
                            {{"team", context_.name}, {"reason", "the task queue: " + handlers::one_line(trouble, 1000)}});
  trouble_ = trouble;
  if (!gone || gone->empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) {
    for (const GivenBack& one : *gone) {
      Fields fields{{"team", context_.name},
                    {"request_id", one.id},
                    {"from", one.holder},
                    {"new", one.dead_reason.empty() ? "open" : "dead"}};
      if (!one.dead_reason.empty()) fields.emplace_back("reason", one.dead_reason);
      tx.log(Event::task_given_back, std::move(fields));
    }
  }));
}

void TaskKeeper::look_for_finished() {
  const long long day = std::chrono::nanoseconds(told_within).count();
  const long long kept = std::chrono::nanoseconds(context_.config.limits.retention).count() / 2;
  auto found = tasks_->finished(context_.clock.system_ns() - std::min(day, kept));
  if (!found) return;  // the sweep reports the error
  for (FinishedTask& one : *found) {
    const auto told = is_told(context_, one.id);
    if (!told || !*told) errands_.add(std::make_unique<DoneTask>(context_, std::move(one)));
  }
}

}  // namespace inbox_poller::poller

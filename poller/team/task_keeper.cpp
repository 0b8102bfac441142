#include "poller/team/task_keeper.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "handlers/text.hpp"
#include "poller/child.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::hours told_within{24};  // what was finished longer ago is old news
constexpr std::chrono::seconds longest_backoff{60};
constexpr std::size_t most_waiting = 1000;

}  // namespace

void TaskKeeper::settle() {
  if (tasks_ == nullptr || !look_.take(context_.clock.steady())) return;
  sweep();
  if (!context_.config.tasks.on_done.empty() && finished_.size() < most_waiting) look_for_finished();
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

Result<bool> TaskKeeper::is_told(const std::string& id) const {
  TRY(const auto history, context_.ledger.history().of_request(context_.name, id));
  return std::any_of(history.begin(), history.end(),
                     [](const HistoryRow& row) { return row.event == event_name(Event::task_told); });
}

void TaskKeeper::look_for_finished() {
  const long long day = std::chrono::nanoseconds(told_within).count();
  const long long kept = std::chrono::nanoseconds(context_.config.limits.retention).count() / 2;
  auto found = tasks_->finished(context_.clock.system_ns() - std::min(day, kept));
  if (!found) return;  // the sweep says what is wrong
  for (FinishedTask& one : *found) {
    const auto told = is_told(one.id);
    if (!told || !*told) finished_.push_back(std::move(one));
  }
}

asio::awaitable<bool> TaskKeeper::tell_next(std::function<bool()> given_up) {
  if (running_ || finished_.empty() || context_.clock.steady() < not_before_) co_return false;
  const auto told = is_told(finished_.front().id);
  if (context_.config.tasks.on_done.empty() || (told && *told)) {  // a reload may have taken the program away
    finished_.pop_front();
    co_return !finished_.empty();
  }
  running_ = true;
  FinishedTask task = std::move(finished_.front());
  finished_.pop_front();
  ChildCommand command;
  command.argv = context_.config.tasks.on_done;
  const boost::json::object input{{"event", "done"}, {"team", context_.name}, {"task", task.task}};
  command.input = schema::printable_json(boost::json::serialize(input)) + "\n";
  command.environment = {{"INBOX_POLLER_TEAM", context_.name}};
  command.timeout = context_.config.tasks.on_done_timeout;
  command.most_output = 4096;
  command.given_up = given_up;
  const std::string program = command.argv.front();
  const auto end = co_await run_child(std::move(command));
  running_ = false;
  Fields fields{{"team", context_.name}, {"request_id", task.id}};
  if (end && end->exit_code == 0 && !end->timed_out) {
    tries_ = 0;
    not_before_ = {};
    const auto recorded = context_.commit([&](Tx& tx) {
      tx.log(Event::task_told, std::move(fields));
    });
    if (recorded) co_return !finished_.empty();
  } else if (!given_up()) {
    const std::string how = !end ? end.error().message
                            : end->timed_out ? "took too long and was ended"
                                             : "left with " + std::to_string(end->exit_code) + ": " +
                                                   handlers::one_line(end->errors);
    fields.emplace_back("reason", "tasks.on_done: " + program + " " + how + "; it is tried again");
    context_.telemetry.emit(Event::task_tell_failed, fields);
  }
  // Behind the others: what it fails at must not stand in their way.
  finished_.push_back(std::move(task));
  not_before_ = context_.clock.steady() + std::min(longest_backoff, std::chrono::seconds(1 << std::min(tries_++, 6)));
  co_return false;
}

}  // namespace inbox_poller::poller

#include "poller/team/job_queue.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>

#include "handlers/text.hpp"
#include "poller/child.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::seconds first_backoff{1};
constexpr std::chrono::seconds longest_backoff{60};

/// Returns why the program failed, with its last output; empty after a success.
std::string why_failed(const Job::Program& program, const std::string& name, const Result<ChildResult>& end) {
  std::string how;
  if (!end) {
    how = end.error().message;
  } else if (end->timed_out) {
    how = "took longer than " + std::to_string(program.timeout.count()) + " ms and was ended";
  } else if (end->exit_code > 0) {
    how = "ended with exit code " + std::to_string(end->exit_code);
  } else if (end->exit_code < 0) {
    how = "was ended by signal " + std::to_string(end->signal);
  } else {
    return {};
  }
  const std::string words = end ? handlers::one_line(end->errors) : std::string();
  return std::string(program.setting) + ": " + name + " " + how + (words.empty() ? "" : ": " + words);
}

}  // namespace

asio::awaitable<bool> JobQueue::run_next(std::function<bool()> given_up) {
  if (running_ || waiting_.empty() || clock_.steady() < not_before_) co_return false;
  running_ = true;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  const bool finished = co_await run(*next, std::move(given_up));
  running_ = false;
  if (finished) {
    tries_ = 0;
    not_before_ = {};
    co_return !waiting_.empty();
  }
  // The ledger or the program failed; retry later.
  not_before_ = clock_.steady() + std::min(longest_backoff, first_backoff * (1 << std::min(tries_, 6)));
  if (after_failure_ == AfterFailure::same)
    waiting_.push_front(std::move(next));
  else
    waiting_.push_back(std::move(next));
  co_return false;
}

asio::awaitable<bool> JobQueue::run(Job& job, std::function<bool()> given_up) {
  const auto program = job.program();
  if (program.argv.empty()) co_return true;
  const auto due = job.due();
  if (!due) co_return false;
  if (!*due) co_return true;
  const std::string name = program.argv.front();  // a reload may change it during the wait
  ChildCommand command;
  command.argv = program.argv;
  command.input = schema::printable_json(boost::json::serialize(**due)) + "\n";
  command.environment = {{"INBOX_POLLER_TEAM", team_}};
  command.timeout = program.timeout;
  command.most_output = 4096;
  command.given_up = given_up;
  const auto why = why_failed(program, name, co_await run_child(std::move(command)));
  if (why.empty()) co_return bool(job.told());
  if (given_up()) co_return false;
  co_return job.failed(why, ++tries_);
}

}  // namespace inbox_poller::poller

// Runs the operator's programs (approver.command, tasks.done_command) outside of the polls, one at a time, and retries them.
// Only exit status 0 counts as done. The history records each success. After a restart nothing is repeated, except a
// job that was killed between the program's end and its record. Invariants: nothing waits for a program, and its result
// changes nothing else.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

/// One job for an operator's program.
class Job {
 public:
  /// The program as currently configured; `argv` is empty if a reload removed it.
  struct Program {
    std::string_view setting;
    const std::vector<std::string>& argv;
    config::Duration timeout;
  };
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  [[nodiscard]] virtual Program program() const = 0;
  /// Returns the program's input; empty when the job is obsolete. After an error the call is repeated.
  [[nodiscard]] virtual Result<std::optional<boost::json::object>> due() = 0;
  /// Records the success. After an error the program runs again.
  virtual Status told() = 0;
  /// Called after failure number `tries`. Returns true to give the job up.
  virtual bool failed(const std::string& why, int tries) = 0;
};

class JobQueue {
 public:
  /// Which job runs next after a failure. All jobs wait until the pause after the failure has passed.
  enum class AfterFailure {
    same,   // the failed one: jobs keep their order
    others  // another one: a failing job does not block the others
  };
  JobQueue(const Clock& clock, std::string team, AfterFailure after)
      : clock_(clock), team_(std::move(team)), after_failure_(after) {}

  void add(std::unique_ptr<Job> job) { waiting_.push_back(std::move(job)); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// Runs the next job if it is due. True when another may be due at once. When `given_up` returns true the program is
  /// ended, and its job runs again after the next start.
  boost::asio::awaitable<bool> run_next(std::function<bool()> given_up);

 private:
  /// True when the job is finished or obsolete.
  boost::asio::awaitable<bool> run(Job&, std::function<bool()> given_up);

  const Clock& clock_;
  const std::string team_;
  const AfterFailure after_failure_;
  std::deque<std::unique_ptr<Job>> waiting_;
  int tries_ = 0;  // failures of the present job
  SteadyTime not_before_{};
  bool running_ = false;
};

}  // namespace inbox_poller::poller

#include "poller/context/group_commit.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace inbox_poller::poller {

namespace asio = boost::asio;

/// Lives in the coroutine that waits for it.
struct GroupCommit::Job {
  Job(GroupCommit& group, TeamContext& of, const asio::any_io_executor& executor)
      : owner(group), context(of), done(executor, asio::steady_timer::time_point::max()) {}
  ~Job() { std::erase(owner.waiting_, this); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  GroupCommit& owner;
  TeamContext& context;
  std::function<Status(EventBatch&)> work;
  std::function<void()> applied;
  EventBatch events;
  Status status = Done{};
  std::exception_ptr thrown;
  asio::steady_timer done;
};

asio::awaitable<Status> GroupCommit::commit(TeamContext& context, std::function<Status(EventBatch&)> work,
                                            std::function<void()> applied) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Job job(*this, context, executor);
  job.work = std::move(work);
  job.applied = std::move(applied);
  if (waiting_.empty()) asio::post(executor, [this] { flush(); });
  waiting_.push_back(&job);
  boost::system::error_code woken;
  co_await job.done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (job.thrown) std::rethrow_exception(job.thrown);
  co_return job.status;
}

void GroupCommit::flush() {
  const auto jobs = std::exchange(waiting_, {});
  Status committed = Done{};
  std::exception_ptr thrown;
  try {
    committed = run_all(jobs);
  } catch (...) {
    thrown = std::current_exception();  // everything is rolled back
  }
  for (Job* job : jobs) {
    job->thrown = thrown;
    if (!thrown) {
      job->status = job->context.conclude(committed ? job->status : committed, job->events);
      if (job->status) job->applied();
    }
    job->done.cancel();
  }
}

Status GroupCommit::run_all(const std::vector<Job*>& jobs) {
  ++transactions_;
  return ledger_.transaction([&]() -> Status {
    for (Job* job : jobs) {
      const auto work = [job] { return job->context.record(job->work, job->events); };
      TRY(ledger_.attempt(work, job->status));
    }
    return Done{};
  });
}

}  // namespace inbox_poller::poller

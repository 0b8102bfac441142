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

/// Local variable of the waiting coroutine.
struct GroupCommit::Job {
  Job(GroupCommit& group, TeamState& context, Work work, const asio::any_io_executor& executor)
      : owner(group), unit(context, std::move(work)), done(executor, asio::steady_timer::time_point::max()) {}
  ~Job() { std::erase(owner.waiting_, this); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  GroupCommit& owner;
  Unit unit;
  std::exception_ptr thrown;
  asio::steady_timer done;
};

asio::awaitable<Status> GroupCommit::commit(TeamState& context, Work work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Job job(*this, context, std::move(work), executor);
  if (waiting_.empty()) asio::post(executor, [this] { flush(); });
  waiting_.push_back(&job);
  boost::system::error_code woken;
  co_await job.done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (job.thrown) std::rethrow_exception(job.thrown);
  co_return job.unit.status;
}

void GroupCommit::flush() {
  const auto jobs = std::exchange(waiting_, {});
  std::vector<Unit> units;
  for (Job* job : jobs) units.push_back(std::move(job->unit));
  std::exception_ptr thrown;
  ++transactions_;
  try {
    commit_together(ledger_, units);
  } catch (...) {
    thrown = std::current_exception();  // everything is rolled back
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i]->unit.status = units[i].status;
    jobs[i]->thrown = thrown;
    jobs[i]->done.cancel();
  }
}

}  // namespace inbox_poller::poller

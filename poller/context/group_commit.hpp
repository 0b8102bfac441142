// Commits the work of several teams in one transaction, so that they share one fsync. The commit runs once every ready
// coroutine has had a turn. It adds no delay: one busy team commits at once, and a burst collects during the previous
// fsync. Invariants: a failed unit undoes only its own writes; success is reported only after the fsync. Source:
// docs/adr/0015-group-commit.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

class GroupCommit {
 public:
  explicit GroupCommit(Ledger& ledger) : ledger_(ledger) {}
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  /// Commits like TeamState::commit(), together with others. `work` may refer to variables of the awaiting coroutine.
  /// Errors: as TeamState::commit().
  boost::asio::awaitable<Status> commit(TeamState& context, Work work);

  /// Number of transactions since the start.
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  struct Job;
  void flush();

  Ledger& ledger_;
  std::vector<Job*> waiting_;
  std::uint64_t transactions_ = 0;
};

}  // namespace inbox_poller::poller

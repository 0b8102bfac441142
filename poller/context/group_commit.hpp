// One transaction, and so one wait for the disk, for what several teams want committed at the same time. Who asks is
// put to the others who asked since the last commit; the commit runs when everybody who is ready now has had a turn.
// With one busy team that is at once; in a burst, whatever came while the disk was waited for goes together. What it
// is not: a delay. Invariant: a member of the group that fails undoes only its own writes, and nobody is told of
// success before the group is on the disk. Source: docs/adr/0015-group-commit.md.
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

  /// As TeamState::commit(), in company. The work may refer to what the awaiting coroutine keeps.
  boost::asio::awaitable<Status> commit(TeamState& context, Work work);

  /// How many transactions there were.
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  struct Job;
  void flush();

  Ledger& ledger_;
  std::vector<Job*> waiting_;
  std::uint64_t transactions_ = 0;
};

}  // namespace inbox_poller::poller

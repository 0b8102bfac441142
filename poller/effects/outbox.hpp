// Carries out what the ledger owes: appends entries to workers' inboxes, and follows each until its owner has consumed
// it. What a peer's unlocked write destroyed is written again with the same bytes. Each row is idempotent (the mailbox
// looks before it writes) and recorded as written, done, deferred, or dead.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "poller/context/group_commit.hpp"
#include "poller/context/team_state.hpp"
#include "poller/ledger/found_empty.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

class Outbox {
 public:
  Outbox(TeamState& context, Mailbox& mailbox, GroupCommit& commits)
      : context_(context), mailbox_(mailbox), commits_(commits) {}

  /// Picks up rows that were written before a restart but not yet looked at again.
  Status restore();

  /// Neither now nor later, until somebody writes a row.
  [[nodiscard]] bool owes_nothing();
  /// Carries out what is due now, waiting a little for held locks.
  boost::asio::awaitable<void> run();

  /// A member's inbox was looked into, or is gone: tells which of ours are consumed or lost.
  void look(const std::string& inbox, bool exists);
  /// The answers to this ask are owed once more, as the ledger has them: what became of the earlier writing does not
  /// matter now.
  void owed_again(const std::string& inbox, const std::string& request_id);
  /// When the oldest message of ours was made that stands in this inbox unread; 0: none does.
  [[nodiscard]] EpochMs unread_since(const std::string& inbox) const;
  /// Nobody reads this inbox any more: its owner has left.
  void abandon(const std::string& inbox);

 private:
  struct Watched {
    OutboxRow row;
    SteadyTime written;
  };
  struct Attempt {
    OutboxRow row;
    WriteReceipt result;
  };

  Result<std::vector<OutboxRow>> due();
  void post(std::span<Attempt> attempts);
  boost::asio::awaitable<Status> record(std::vector<Attempt> attempts);
  /// Why its owner would refuse this row; empty when it takes it.
  [[nodiscard]] std::string refusal_of(const OutboxRow&) const;
  enum class Ending { consumed, overwritten, abandoned, refused };
  Status complete(const std::vector<std::pair<Watched, Ending>>& ended);

  TeamState& context_;
  Mailbox& mailbox_;
  GroupCommit& commits_;
  std::map<std::string, std::vector<Watched>> watched_;  // by inbox
  FoundEmpty none_pending_;                              // of the team's rows
};

}  // namespace inbox_poller::poller

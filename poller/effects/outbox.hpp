// Writes the outgoing messages of the ledger into workers' inboxes, and follows each until its owner has read it. A
// message that another program's unlocked write destroyed is written again with the same bytes. Each row is idempotent,
// because the mailbox checks before it writes. Rows are recorded as written, done, deferred, or dead.
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

  /// Loads the rows that were written but not checked before a restart. Errors: ledger.*.
  Status restore();

  /// True when nothing is pending and nothing will be until a new row is written.
  [[nodiscard]] bool owes_nothing();
  /// Writes the due messages, waiting briefly for held locks.
  boost::asio::awaitable<void> run();

  /// Checks which of our messages in this inbox were read or lost, after the inbox was read or has gone.
  void look(const std::string& inbox, bool exists);
  /// Queues the stored replies to this request again, whatever the state of the earlier write.
  void owed_again(const std::string& inbox, const std::string& request_id);
  /// Creation time (wall clock) of our oldest unread message in this inbox; 0: none.
  [[nodiscard]] EpochMs unread_since(const std::string& inbox) const;
  /// Gives up the messages for this inbox, because its owner has left.
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
  /// Reason why the inbox's owner would reject this row; empty when it accepts.
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

// Carries out what the ledger owes: appends replies to workers' inboxes, and looks again later that they stayed or were
// consumed. Each row is idempotent (the mailbox looks before it writes) and recorded as written, done, deferred with
// back-off, or dead.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "poller/mailbox/mailbox.hpp"
#include "poller/run/team_context.hpp"

namespace inbox_poller::poller {

class Outbox {
 public:
  Outbox(TeamContext& context, Mailbox& mailbox) : context_(context), mailbox_(mailbox) {}

  /// Picks up rows that were written before a restart but not yet looked at again.
  Status restore();

  /// Carries out what is due now, waiting a little for held locks, then looks after what was written earlier.
  boost::asio::awaitable<void> run();

 private:
  struct Watched {
    OutboxRow row;
    AppendReceipt receipt;
    SteadyTime written;
    int looks = 0;
  };
  struct Attempt {
    OutboxRow row;
    WriteResult result;
    AppendReceipt receipt;
  };

  Status record(std::vector<Attempt> attempts);
  void look_again();

  TeamContext& context_;
  Mailbox& mailbox_;
  std::vector<Watched> watched_;
};

}  // namespace inbox_poller::poller

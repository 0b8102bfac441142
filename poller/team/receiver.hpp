// Turns messages of the lead's inbox or its aliases into committed rows. Every message that the ledger does not know is
// decoded once, judged once and recorded, all in one transaction. Only then may the message be consumed. An interceptor
// consumes only messages that a rule answered; an observer consumes nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "handlers/receive.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/requests.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class Receiver {
 public:
  Receiver(TeamState& context, const Mailbox& mailbox, GroupCommit& commits, Requests& requests, Shutdowns& shutdowns,
         Outbox& outbox, Delivery& delivery, handlers::Place place)
      : context_(context),
        mailbox_(mailbox),
        commits_(commits),
        requests_(requests),
        shutdowns_(shutdowns),
        outbox_(outbox),
        delivery_(delivery),
        place_(place) {}

  /// Accepts one chunk of an inbox. After success `disposals` has one Ack per message. `again` means that the queue for
  /// the lead is full. Errors: ledger.*.
  boost::asio::awaitable<Status> take(const std::string& inbox, const Batch&, std::vector<Ack>& disposals);

  /// Ends a scan of the whole inbox, or of a missing one. Later messages count as new. `left_out` is true when at least
  /// one message was acknowledged with `requeue`.
  void end_look(bool left_out) {
    looked_ = true;
    full_told_ = left_out;
  }

 private:
  struct Piece {  // state of one transaction
    std::string inbox;
    long long batch = 0;
    std::vector<Ack> disposals;
    struct Moot {
      handlers::RequestName name;
      handlers::Answer answer;
    };
    std::vector<Moot> moot;                    // requests that became pointless
    std::map<std::string, MemberRow> members;  // as of this transaction
    std::map<Priority, std::vector<long long>> queued;  // new messages whose deliveries are inserted at the end
    std::string full;                   // why chat was left in the inbox; else empty
    // State of the current message:
    bool stays = false;     // in the inbox, because the queue is full
    bool ours = false;      // answered by a rule: also an interceptor marks it read
    std::optional<handlers::Answer> early;  // another program's, which stood at the worker before we read the request
    bool says_all = false;  // the decoded fields hold everything that the bytes say
    std::string_view bytes;
  };

  Status take_all(const std::vector<BoxMessage>&, Tx&, Piece&);
  /// Closes requests that nobody waits for any more.
  void close(const std::vector<Piece::Moot>& moot);
  Status accept(const BoxMessage&, Tx&, Piece&);
  Status judge(const BoxMessage&, MessageRow&, Tx&, Piece&);
  /// Returns why no rule decides this request, and keeps the answer that was given before.
  std::string_view why_leads(const handlers::RequestRef&, const MessageRow&, bool was_read, Piece&) const;
  Status apply(const handlers::ToLead&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::WorkerStatus&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::Refused&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::Asked&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::AskedAgain&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::ShutdownAnswered&, const BoxMessage&, MessageRow&, Tx&, Piece&);
  /// Records the message and leaves it to the lead that consumes this inbox.
  Status leave(MessageRow&, Disposition, Tx&, Piece&) const;
  /// Handles a known message that is read for the first time since the start or a role change.
  Status met_again(const BoxMessage&, Tx&, Piece&) const;
  [[nodiscard]] Result<handlers::Arrival> arrival(const BoxMessage&, const MessageRow&) const;
  /// Records the message as decided, or marks it as left in the inbox.
  Status receive(const handlers::Reception&, MessageRow&, Tx&, Piece&) const;
  Status record(MessageRow&, Event, Tx&, Piece&) const;
  const MemberRow* last_known(const std::string& name, const Piece&) const;
  MemberRow* seen(const MessageRow&, Piece&) const;

  TeamState& context_;
  const Mailbox& mailbox_;
  GroupCommit& commits_;
  Requests& requests_;
  Shutdowns& shutdowns_;
  Outbox& outbox_;
  Delivery& delivery_;
  handlers::Place place_;
  bool full_told_ = false;  // the full queue was logged
  bool looked_ = false;     // at the whole inbox: a new message that is already marked read was read just now
};

}  // namespace inbox_poller::poller

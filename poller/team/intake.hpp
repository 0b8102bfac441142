// From what the lead's inbox holds (or one of its aliases) to committed rows: every message that the ledger does not
// know is decoded once, judged once and recorded, all in one transaction. Only then may it be consumed. Beside another
// lead (role front) only what a rule answered is; as observer nothing ever is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "handlers/intake.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/asks.hpp"
#include "poller/team/shutdowns.hpp"

namespace inbox_poller::poller {

class Intake {
 public:
  Intake(TeamState& context, const Mailbox& mailbox, GroupCommit& commits, Asks& asks, Shutdowns& shutdowns,
         Outbox& outbox, Delivery& delivery, handlers::Place place)
      : context_(context),
        mailbox_(mailbox),
        commits_(commits),
        asks_(asks),
        shutdowns_(shutdowns),
        outbox_(outbox),
        delivery_(delivery),
        place_(place) {}

  /// Takes in one piece of a look. After success `disposals` has what becomes of each: `again` for those that do not fit
  /// now (the queue for the lead is full).
  boost::asio::awaitable<Status> take(const std::string& inbox, const Batch&, std::vector<Ack>& disposals);

  /// All of the box was taken in, or there is none: whatever comes into it comes from now on. `left_out`: something of
  /// it was `again`.
  void end_look(bool left_out) {
    looked_ = true;
    full_told_ = left_out;
  }

 private:
  struct Piece {  // of one transaction
    std::string inbox;
    long long batch = 0;
    std::vector<Ack> disposals;
    std::vector<handlers::AskName> moot;  // nobody waits for them any more
    std::map<std::string, MemberRow> members;  // as this transaction leaves them
    std::string full;                   // why chat was left in the inbox; empty: none was
    // Of the message at hand:
    bool stays = false;     // in the inbox: there is no room for it
    bool ours = false;      // a rule answered it, so that it is marked also beside another lead
    bool says_all = false;  // it says all that its bytes do
    std::string_view bytes;
  };

  Status take_all(const std::vector<Taken>&, Tx&, Piece&);
  /// Closes asks that nobody waits for any more.
  void close(const std::vector<handlers::AskName>& moot);
  Status accept(const Taken&, Tx&, Piece&);
  Status judge(const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::ToLead&, const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::WorkerStatus&, const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::Refused&, const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::Asked&, const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::AskedAgain&, const Taken&, MessageRow&, Tx&, Piece&);
  Status apply(const handlers::ShutdownAnswered&, const Taken&, MessageRow&, Tx&, Piece&);
  /// Recorded, and left to the lead that consumes this inbox.
  Status leave(MessageRow&, Disposition, Tx&, Piece&) const;
  /// A message that the ledger knows already, met for the first time since the start or a change of role.
  Status met_again(const Taken&, Tx&, Piece&) const;
  [[nodiscard]] Result<handlers::Arrival> arrival(const Taken&, const MessageRow&) const;
  /// Records it as decided, or notes that it stays out.
  Status receive(const handlers::Reception&, MessageRow&, Tx&, Piece&) const;
  Status record(MessageRow&, Event, Tx&, Piece&) const;
  const MemberRow* last_known(const std::string& name, const Piece&) const;
  MemberRow* seen(const MessageRow&, Piece&) const;

  TeamState& context_;
  const Mailbox& mailbox_;
  GroupCommit& commits_;
  Asks& asks_;
  Shutdowns& shutdowns_;
  Outbox& outbox_;
  Delivery& delivery_;
  handlers::Place place_;
  bool full_told_ = false;  // that something is left out
  bool looked_ = false;     // at all of it, so what is new and read already was read just now
};

}  // namespace inbox_poller::poller

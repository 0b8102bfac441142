// From the bytes of the lead's inbox (or of one of its aliases) to committed rows: every entry that the ledger does not
// know is decoded once, judged once and recorded, all in one transaction. Only then may it be marked read. Beside
// another lead (role front) only what a rule answered is; as observer nothing ever is.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "handlers/intake.hpp"
#include "poller/context/team_context.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/team/asks.hpp"
#include "poller/team/shutdowns.hpp"
#include "schema/inbox_document.hpp"

namespace inbox_poller::poller {

class Intake {
 public:
  Intake(TeamContext& context, GroupCommit& commits, Asks& asks, Shutdowns& shutdowns, Outbox& outbox,
         handlers::Place place)
      : context_(context), commits_(commits), asks_(asks), shutdowns_(shutdowns), outbox_(outbox), place_(place) {}

  /// Takes in what is new in one window of a reading, whose bytes are at hand. After success, every entry that may be
  /// marked read is in `to_mark` (indexes of unread entries whose rows are committed). Entries that do not fit now (the
  /// queue for the lead is full) stay out and unread.
  boost::asio::awaitable<Status> take(const std::string& inbox, const schema::InboxDocument&, const Window&,
                                      std::vector<std::size_t>& to_mark);
  /// All windows were taken in; the mailbox knows the first `known` entries of the document. `whole`: nothing was left
  /// out of it.
  void finish(const schema::InboxDocument&, std::size_t known, bool whole);

  /// There is no inbox yet: whatever comes into it comes from now on.
  void missing() { looked_ = true; }

  /// The role changed: the whole inbox is looked at again. What the mailbox leaves out is marked read, and says nothing
  /// new to any role.
  void forget() {
    present_.clear();
    forgotten_ = true;
  }

  /// True when something had to stay out: the inbox must be taken in again although it does not change.
  [[nodiscard]] bool left_out() const { return left_out_; }

  /// Role front: true for an ask that a rule answered and that is still ours to mark.
  [[nodiscard]] bool answered(const schema::MessageKey& key) const { return ours_.contains(key.value); }

  /// True for messages that were in the inbox when it was last taken in and that the mailbox does not know; their rows
  /// must not be pruned.
  [[nodiscard]] bool in_inbox(const schema::MessageKey& key) const { return present_.contains(key); }

 private:
  struct Fresh {  // of one transaction; applied to memory after its commit
    std::string inbox;
    long long batch = 0;
    std::vector<handlers::Ask> pending;
    std::vector<handlers::Shutdown> answered;
    std::vector<std::string> repeated;     // ids of asks whose answers are owed again
    std::vector<handlers::Ask> moot;   // nobody waits for them any more
    std::unordered_set<std::string> ours;  // keys that a front may mark
    std::map<std::string, MemberRow> members;
    std::vector<Fingerprint> keys;
    long long queued_chat = 0;
    std::map<std::string, long long> waiting;  // of that, by sender
    std::string full;                          // why chat was left in the inbox; empty: none was
  };

  /// True for what was committed before.
  [[nodiscard]] bool is_present(const schema::InboxEntry&) const;
  Status take_all(const schema::InboxDocument&, const std::vector<const schema::InboxEntry*>& unknown, EventBatch&,
                  Fresh&);
  /// What was committed, carried into memory.
  void apply(Fresh&);
  Status accept(const schema::InboxDocument&, const schema::InboxEntry&, EventBatch&, Fresh&);
  Status judge(const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::ToLead&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::WorkerStatus&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::Refused&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::Asked&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::AskedAgain&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::ShutdownAnswered&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  /// Recorded, and left to the lead that consumes this inbox.
  Status leave(MessageRow&, Disposition, EventBatch&, Fresh&) const;
  /// An entry that the ledger knows already, met for the first time since the start or a change of role.
  Status met_again(const schema::InboxEntry&, EventBatch&, Fresh&) const;
  /// True when a rule answered the ask of this id, so that a front may mark its entries.
  [[nodiscard]] Result<bool> answered_by_us(const std::string& request_id, const std::string& asker) const;
  static handlers::Arrival arrival(const schema::InboxEntry&, const MessageRow&, Fresh&);
  /// Records it as decided, or notes that it stays out.
  Status receive(const handlers::Reception&, MessageRow&, EventBatch&, Fresh&) const;
  Status record(MessageRow&, Event, EventBatch&, Fresh&) const;
  const MemberRow* last_known(const std::string& name, const Fresh&) const;
  MemberRow* seen(const MessageRow&, Fresh&) const;

  TeamContext& context_;
  GroupCommit& commits_;
  Asks& asks_;
  Shutdowns& shutdowns_;
  Outbox& outbox_;
  handlers::Place place_;
  KeySet present_;                        // what is committed, of what the mailbox does not know
  std::unordered_set<std::string> ours_;  // role front: what may be marked
  bool forgotten_ = false;                // since the last reading began
  bool anew_ = false;                     // in this reading nothing counts as seen before
  bool left_out_ = false;
  bool full_told_ = false;  // that something is left out
  bool looked_ = false;     // at least once, so what is new and read already was read just now
};

}  // namespace inbox_poller::poller

// From the bytes of the lead's inbox to committed rows: every entry that the ledger does not know is decoded once,
// judged once and recorded, all in one transaction. Only then may it be marked read.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "poller/run/asks.hpp"
#include "poller/run/team_context.hpp"
#include "schema/inbox_document.hpp"

namespace inbox_poller::poller {

class Intake {
 public:
  Intake(TeamContext& context, Asks& asks) : context_(context), asks_(asks) {}

  /// Takes in what is new in the document. After success, every entry that may be marked read is in `to_mark` (indexes
  /// of unread entries whose rows are committed). Entries that do not fit now (the queue for the lead is full) stay out
  /// and unread.
  Status take(const schema::InboxDocument&, std::vector<std::size_t>& to_mark);

  /// True when something had to stay out: the inbox must be taken in again although it does not change.
  [[nodiscard]] bool left_out() const { return left_out_; }

  /// True for messages that were in the inbox when it was last taken in; their rows must not be pruned.
  [[nodiscard]] bool in_inbox(const schema::MessageKey& key) const { return present_.contains(key.value); }

 private:
  struct Fresh {  // of one transaction; applied to memory after its commit
    std::vector<handlers::Request> pending;
    std::map<std::string, MemberRow> members;
    std::vector<std::string> keys;
    long long queued_chat = 0;
    bool full = false;
  };

  Status accept(const schema::InboxDocument&, const schema::InboxEntry&, long long batch, EventBatch&, Fresh&);
  Status judge(const schema::InboxEntry&, const schema::Envelope&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::ToLead&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::WorkerStatus&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::Refused&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::Asked&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status apply(const handlers::AskedAgain&, const schema::InboxEntry&, MessageRow&, EventBatch&, Fresh&);
  Status record(const MessageRow&, Event, EventBatch&, Fresh&) const;
  MemberRow* seen(const MessageRow&, Fresh&) const;

  TeamContext& context_;
  Asks& asks_;
  std::unordered_set<std::string> present_;
  bool left_out_ = false;
};

}  // namespace inbox_poller::poller

// The ledger: journal, outbox, duplicate table and archive in one SQLite file (WAL, synchronous=FULL). Accepting
// responsibility for a message means that its row is committed here; nothing is marked read, answered or delivered
// before that. This class owns the file and its transactions and gives out its tables; docs/reference/ledger.md describes those
// for people, who may read the file with `sqlite3` at any time. Invariants: what a team takes in of one look is there as
// a whole or not at all, also when several teams share a transaction (docs/adr/0003, 0015); request states only move
// along handlers::transition; the words of what is owed never change; a row is read as it was written or not at all. A
// damaged file is an error at open ("ledger.damaged"), never silently replaced.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "poller/changes.hpp"
#include "poller/ledger/asks.hpp"
#include "poller/ledger/deliveries.hpp"
#include "poller/ledger/history.hpp"
#include "poller/ledger/host_mail.hpp"
#include "poller/ledger/leads.hpp"
#include "poller/ledger/members.hpp"
#include "poller/ledger/messages.hpp"
#include "poller/ledger/outbox.hpp"
#include "poller/ledger/shutdowns.hpp"

namespace inbox_poller::poller {

/// A ledger of an older format that was renamed when the ledger at its path was opened.
struct SetAsideLedger {
  std::string path;  // its name now, and the beginning of its companions' names
  std::string why;   // "it has format 5, …"
};

/// Where what was committed is, after the ledger was taken away.
struct SavedLedger {
  std::string path;  // the ledger's own, when only a companion was taken away; otherwise `<path>.saved`
  std::string next;  // what a person does now
};

class Ledger {
 public:
  /// Opens or creates the file (0600) and checks it. A ledger of an older format is renamed to `<path>.format-N`, and a
  /// new one begins. ":memory:" is allowed for tests. Errors: ledger.damaged, ledger.in_use (another daemon has it),
  /// ledger.newer (written by a later program), ledger.foreign (not a ledger), ledger.unsafe (a link, another owner,
  /// writable for others), ledger.saved (one ledger is at the path, another one was saved beside it), ledger.gone,
  /// ledger.io, ledger.full.
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  /// True when there was none at the path, and an empty one was made.
  [[nodiscard]] bool is_new() const;
  /// True when it was found as `<path>.saved`, where an earlier daemon had put it (save()), and was put back.
  [[nodiscard]] bool was_saved() const;
  /// Renames a damaged ledger and all that belongs to it to `<path>.damaged-<time>` and returns that name, or an empty
  /// one when there was no ledger. Only ever called because a person asked for it (`run --new-ledger`).
  static Result<std::string> set_aside(const std::string& path, EpochMs now_ms);
  /// The ledger of an older format that was at the path before; nothing when there was none.
  [[nodiscard]] const std::optional<SetAsideLedger>& older() const;
  ~Ledger();

  /// Runs `work` in one immediate transaction: commits when it returns success, rolls back on an error or an exception
  /// (which goes on to the caller). After an error the ledger stays usable, except after "ledger.gone". Nesting is a
  /// mistake and is refused.
  Status transaction(const std::function<Status()>& work);

  /// Compares the files at the path with those that are open: the ledger, its log, its index and its lock. Every
  /// transaction asks before it begins and after it has committed; ask also before something is done without one.
  /// "ledger.gone": they differ, which is final; "ledger.io": that cannot be found out now, and is asked again.
  Status still_there();
  /// From now on `told` is called once, when they differ; perhaps within a transaction's end, so post what is to be done.
  void on_gone(std::function<void()> told);
  /// After "ledger.gone": puts what is open where a start finds it, and makes the folder for it where that is gone, too.
  Result<SavedLedger> save();

  /// Inside a transaction: what `work` wrote is undone when it fails, and `outcome` says so; the rest stays. Fails when
  /// the transaction itself is lost with it.
  Status attempt(const std::function<Status()>& work, Status& outcome);

  /// Another number than before once any row may have been written: while it stays, so does every answer to a question
  /// without a moment in it.
  [[nodiscard]] long long changes() const;
  /// Likewise, for questions about messages and their deliveries only.
  [[nodiscard]] long long chat_changes() const;

  /// From now on `told` is called behind every commit, with the areas of the rows that it wrote.
  void tell(std::function<void(Areas)> told);

  /// Moves what was committed from the write-ahead log into the database when that is due: some milliseconds, to be
  /// spent now and then when nobody waits. Otherwise it comes in a commit, later, and whoever waits for that waits for
  /// it.
  void checkpoint_if_due();

  MessageTable& messages();
  DeliveryTable& deliveries();
  AskTable& asks();
  OutboxTable& outbox();
  ShutdownTable& shutdowns();
  OrderTable& orders();
  MemberTable& members();
  RuleTable& rules();
  LeadTable& leads();
  RosterTable& rosters();
  HistoryTable& history();
  HostMailTable& host_mail();  // to be prepared first

  /// The number of the next look that accepts something.
  Result<long long> next_batch();

  /// Deletes finished rows from before `cutoff`, except messages whose key is in `keep` (still in an inbox) and
  /// anything still owed. An ask or a shutdown stays as long as a message about it, what was sent for it as long as it,
  /// the history of each as long as they; an order as long as its member is in the team. Returns how many messages
  /// went.
  Result<long long> prune(std::string_view team, EpochMs cutoff,
                          const std::function<bool(const schema::MessageKey&)>& keep);

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inbox_poller::poller

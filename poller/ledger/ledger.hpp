// The ledger: journal, outbox, duplicate table and archive in one SQLite file (WAL, synchronous=FULL). A message is
// accepted when its row is committed; before that, nothing is marked read, answered or delivered. This class owns the
// file, its transactions and its tables, which docs/reference/ledger.md describes for people. Invariants: the entries
// that a team accepts in one poll are committed as a whole or not at all (docs/adr/0003, 0015). Request states follow
// handlers::transition. The text of a reply never changes. A row is read as it was written, or its read fails. A
// damaged file is an error ("ledger.damaged"), and is never replaced silently.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "poller/changes.hpp"
#include "poller/ledger/deliveries.hpp"
#include "poller/ledger/history.hpp"
#include "poller/ledger/node_mail.hpp"
#include "poller/ledger/leads.hpp"
#include "poller/ledger/members.hpp"
#include "poller/ledger/messages.hpp"
#include "poller/ledger/outbox.hpp"
#include "poller/ledger/requests.hpp"
#include "poller/ledger/shutdowns.hpp"

namespace inbox_poller::poller {

/// A ledger of an older format that was renamed when the ledger at its path was opened.
struct SetAsideLedger {
  std::string path;  // new name; the names of the companions begin with it
  std::string why;   // "it has format 5, …"
};

/// Place of the committed rows after the ledger was taken away.
struct SavedLedger {
  std::string path;  // the ledger's own, when only a companion was taken away; otherwise `<path>.saved`
  std::string next;  // next step of a person
};

/// An open ledger, for one thread. Only one daemon can have a file open. The tables live as long as the ledger.
class Ledger {
 public:
  /// Opens or creates the file (0600) and checks it. A ledger of an older format is renamed to `<path>.format-N`, and a
  /// new one begins. ":memory:" is for tests. Errors: "ledger.damaged", "ledger.in_use" (by another daemon),
  /// "ledger.newer" (written by a later program), "ledger.foreign" (not a ledger), "ledger.unsafe" (a link, another
  /// owner, writable for others), "ledger.saved" (a ledger and a saved one exist), "ledger.gone", "ledger.io",
  /// "ledger.full".
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  /// Returns true if open() created an empty ledger.
  [[nodiscard]] bool is_new() const;
  /// Returns true if open() restored the ledger that save() of an earlier daemon had put at `<path>.saved`.
  [[nodiscard]] bool was_saved() const;
  /// Renames a damaged ledger and its companions to `<path>.damaged-<time>`. Returns that name; empty if there was no
  /// ledger. Only a person requests this (`run --new-ledger`).
  static Result<std::string> set_aside(const std::string& path, EpochMs now_ms);
  /// Returns the ledger of an older format that open() renamed, if it did.
  [[nodiscard]] const std::optional<SetAsideLedger>& older() const;
  ~Ledger();

  /// Runs `work` in one immediate transaction. Commits after a success; rolls back after an error or an exception, and
  /// passes it on. After an error the ledger stays usable, except after "ledger.gone". A nested call fails.
  Status transaction(const std::function<Status()>& work);

  /// Compares the files at the path with the open ones: the ledger, its log, its index and its lock. Each transaction
  /// calls this before it begins and after its commit. Call it also before an action without a transaction. Errors:
  /// "ledger.gone" (final), "ledger.io" (the files could not be compared now).
  Status still_there();
  /// Registers `told`, which is called once when the files differ. The call may come from the end of a transaction, so
  /// `told` must post its work.
  void on_gone(std::function<void()> told);
  /// Stores the open ledger where the next start finds it; call after "ledger.gone". Makes the directory if it is gone.
  Result<SavedLedger> save();

  /// Runs `work` in a savepoint of the open transaction and sets `outcome`. A failed `work` undoes only its own writes.
  /// Fails if the transaction is lost.
  Status attempt(const std::function<Status()>& work, Status& outcome);

  /// Returns a counter that differs once any row may have been written. While the counter stays, the result of a query
  /// that does not depend on the time stays too.
  [[nodiscard]] long long changes() const;
  /// Returns the same kind of counter for messages and their deliveries only.
  [[nodiscard]] long long chat_changes() const;

  /// Registers `told`, which is called after each commit with the areas of the written rows.
  void tell(std::function<void(Areas)> told);

  /// Moves committed pages from the write-ahead log into the database when this is due. The move takes milliseconds;
  /// call this now and then, while no caller waits. Otherwise a later commit moves them, and its caller waits.
  void checkpoint_if_due();

  MessageTable& messages();
  DeliveryTable& deliveries();
  RequestTable& requests();
  OutboxTable& outbox();
  ShutdownTable& shutdowns();
  OrderTable& orders();
  MemberTable& members();
  RuleTable& rules();
  LeadTable& leads();
  RosterTable& rosters();
  HistoryTable& history();
  NodeMailTable& node_mail();  // call its prepare() first

  /// Returns a new batch number, for a poll that accepts something. Errors: "ledger.*".
  Result<long long> next_batch();

  /// Deletes finished rows older than `cutoff`, except messages for which `keep` is true, because an inbox has them. An
  /// approval request or a shutdown stays as long as a message about it, its replies as long as the request. History
  /// lines stay as long as their message or request, an order while its member is in the team. Returns the number of
  /// deleted messages. Errors: "ledger.*".
  Result<long long> prune(std::string_view team, EpochMs cutoff,
                          const std::function<bool(const schema::MessageKey&)>& keep);

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inbox_poller::poller

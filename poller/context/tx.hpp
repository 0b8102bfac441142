// One unit of work of a team: rows, posts, words for the lead, log lines and what memory makes of them. It is committed
// as a whole or it never began: after a failure the ledger, the log, the metrics and memory are as they were before.
// commit_together() is the only place outside of the ledger that opens a team's transaction. Two ways lead there:
// TeamState::commit() at once and alone, for whoever is waited for; GroupCommit::commit() in company, for batches of
// messages and of effects, whose wait for the disk is shared. Everything here lives on the decision thread. Source: docs/adr/0054-one-unit-of-work.md.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "handlers/outgoing.hpp"
#include "poller/context/telemetry.hpp"
#include "poller/ledger/ledger.hpp"

namespace inbox_poller::poller {

class TeamState;
class Tx;

/// Fills one Tx, inside the transaction. It may run in company, and its writes may be undone: it changes no memory but
/// its own. Returns a Status, or nothing where Tx::keep() has it.
class Work {
 public:
  template <std::invocable<Tx&> F>
    requires(!std::same_as<std::remove_cvref_t<F>, Work>)
  Work(F fill) {  // NOLINT(google-explicit-constructor): a lambda is a work
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Tx&>>)
      fill_ = [fill = std::move(fill)](Tx& tx) mutable -> Status { return fill(tx), Status(Done{}); };
    else
      fill_ = std::move(fill);
  }
  Status operator()(Tx& tx) const { return fill_(tx); }

 private:
  std::function<Status(Tx&)> fill_;
};

/// A decision is refused while another node may decide ("cluster.no_lease"). A fact is true whether or not we may decide.
enum class CommitAs { decision, fact };

/// Something of our own for the lead session.
struct LeadNotice {
  handlers::Notice notice;
  std::string sender = "system";  // whom it is about, where that is a worker
  std::string type = "chat";
  std::string request_id;
  Priority priority = Priority::chat;
  DeliveryState delivery = DeliveryState::queued;  // `none`: recorded for people only
  std::string_view reason = {};                    // for people
};

class Tx {
 public:
  TeamState& team;
  Ledger& ledger;  // of the team: its tables take the rows

  /// A line of the log, which leaves after the commit; with a key or a request id also a line of the history.
  void log(Event, Fields);
  /// One that the row of its message tells of as well (message_life.hpp): it has no line in the history.
  void log_told_by_row(Event event, Fields fields) { lines_.push_back({event, std::move(fields)}); }
  /// Queues them for their inboxes.
  void post(const std::vector<handlers::Post>&, const std::string& request_id, long long batch);
  /// Queues it like a message from an inbox. A key that is there already is an error ("ledger.io"): a word is said once.
  Result<MessageRow> notify_lead(const LeadNotice&);
  /// Memory follows the commit, before anybody else can look. No wait, no file and no transaction: that one is refused
  /// ("ledger.sql").
  void then(std::function<void()> follow) { follows_.push_back(std::move(follow)); }
  /// The first failure is the outcome of the whole, and what comes after it is not written.
  void keep(Status written) {
    if (so_far_ && !written) so_far_ = std::move(written);
  }
  /// What `part` does is undone when it fails, lines and `then` included; the rest stays. The outcome of the part.
  Status attempt(const Work& part, CommitAs as);

 private:
  friend struct Unit;
  explicit Tx(TeamState& context);
  Status fill(const Work&, CommitAs);
  void committed();

  Status so_far_ = Done{};
  std::vector<LoggedEvent> lines_;
  std::vector<std::function<void()>> follows_;
};

/// One member of a group that is committed together.
struct Unit {
  Unit(TeamState& team, Work fill, CommitAs commit_as = CommitAs::decision)
      : tx(team), work(std::move(fill)), as(commit_as) {}

  Status fill() { return tx.fill(work, as); }
  /// It is on the disk: lines leave, memory follows.
  void committed() { tx.committed(); }

  Tx tx;
  Work work;
  CommitAs as;
  Status status = Done{};
};

/// One transaction for all of them. A unit that fails undoes only itself, and its `status` says why; a commit that fails
/// is the status of each. An exception of a work rolls everything back and goes on to the caller.
void commit_together(Ledger&, std::span<Unit>);

}  // namespace inbox_poller::poller

// The shutdowns of one team: asks workers to end, and follows each shutdown until no process or pane is left.
// handlers/shutdown.hpp decides the next step; this class carries it out and records it. Each step is checked before
// and recorded after, so a crash only repeats a check.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "handlers/shutdown.hpp"
#include "poller/context/team_state.hpp"
#include "poller/mailbox/roster_store.hpp"
#include "poller/panes.hpp"
#include "poller/team/worker_family.hpp"

namespace inbox_poller::poller {

/// Returns true if a worker that joined at `joined_ms` took the name of one that joined at `before_ms`. Both are the
/// roster's joinedAt; 0: unknown.
inline bool is_successor(EpochMs joined_ms, EpochMs before_ms) {
  return before_ms != 0 && joined_ms != 0 && joined_ms != before_ms;
}

class Shutdowns {
 public:
  /// Limit of open shutdowns ordered by another node, because a hostile leader may invent ids.
  static constexpr std::size_t most_followed = 200;

  Shutdowns(TeamState& context, Mailbox& mailbox, RosterStore& members, TaskBoard* board, Panes& panes,
            Processes& processes);

  /// Loads every open shutdown from the ledger. Errors: ledger.*.
  Status restore();

  struct Order {
    std::string member;
    std::string by;
    std::string reason;
    std::optional<config::Duration> remind_after;  // empty: as configured; zero: no reminder
    std::optional<config::Duration> force_after;  // empty: as configured
    bool force = false;                           // end the worker at once, without asking it
  };
  /// Records the worker's processes and pane, then sends the request. Panes alone are never a reason to reject. Reasons
  /// in NotTaken: member.unknown; shutdown.open, unless `force` or `force_after` speeds up one that waits for its
  /// answer; worker.verifies, when the worker would not obey and `force` is not set; shutdown.nothing_recorded, when a
  /// living worker has nothing on record that may be ended. Errors: ledger.* (the same order may succeed later).
  using Begun = std::variant<handlers::Shutdown, handlers::NotTaken>;
  boost::asio::awaitable<Result<Begun>> request(Order order);

  /// State of a worker that lives on another node: the node, and its progress with the end.
  struct Elsewhere {
    std::string node;
    bool ended = false;
    std::string tasks, detail;  // as that node reports them
  };
  /// Called for each worker; returns empty for a worker on this node.
  std::function<std::optional<Elsewhere>(const handlers::Shutdown&)> elsewhere = [](const auto&) { return std::nullopt; };

  /// An order of the leading node for a worker on this node.
  struct Ordered {
    std::string request_id, member, by, reason;
  };
  /// Records the order with the worker's processes and pane, before anything is asked or ended. False when it cannot be
  /// recorded: too many are open, no member here has that name, or the ledger fails.
  boost::asio::awaitable<bool> follow(Ordered);
  /// Ends a worker on the leader's word that it agreed, or that force is due. The order comes again in each round: empty
  /// also where the shutdown is unknown or further along. Returns the reason if force must not be used.
  std::optional<handlers::NotTaken> end_now(const std::string& request_id, bool forced);

  /// Ends the wait for an answer where the leading node does not order the end any more, because it gave up. Otherwise
  /// the next order for that worker would be rejected for a day. Also ends what this node ordered of other nodes when it
  /// led: they tell the leader of now. `ordered`: the request ids of the leading node's orders.
  void give_up_without(const std::set<std::string>& ordered);

  /// Continues a shutdown after the worker's answer was committed.
  void answered(const handlers::Shutdown&);

  /// Advances each open shutdown until it has to wait. Call once a tick.
  boost::asio::awaitable<void> run_due();

  /// Takes the workers whose end was recorded since the last call.
  std::vector<handlers::Shutdown> take_ended() { return std::exchange(ended_, {}); }

  [[nodiscard]] std::vector<handlers::Shutdown> open() const;
  [[nodiscard]] bool under_way() const { return !open_.empty() || !ended_.empty(); }
  /// Members that have ended and whose roster entries are to be removed.
  [[nodiscard]] std::vector<std::string> leaving() const;

 private:
  /// Ends a worker sooner, or at once, that was asked and has not answered. Empty when there is no such request, or the
  /// order does not ask for it.
  std::optional<Result<Begun>> hurry(const Order&);
  /// Returns the open shutdown of this member as a reason to reject another one.
  [[nodiscard]] std::optional<handlers::NotTaken> open_for(const std::string& member) const;
  /// Returns the reason why this worker cannot be asked or ended as ordered.
  [[nodiscard]] std::optional<handlers::NotTaken> hindered(const Order&, const handlers::WorkerPlace&);
  boost::asio::awaitable<handlers::WorkerPlace> find_place(schema::Member member);
  boost::asio::awaitable<handlers::ShutdownSight> look(handlers::Shutdown shutdown);
  /// Takes one step; true when another one may follow at once.
  boost::asio::awaitable<bool> step(std::string id);
  boost::asio::awaitable<bool> close_pane(handlers::Shutdown shutdown);
  bool remind(handlers::Shutdown);
  bool signal(handlers::Shutdown, int number);
  bool move(handlers::Shutdown, handlers::ShutdownEvent, const std::string& remark = {});
  bool remove_traces(handlers::Shutdown, handlers::ShutdownEvent);
  /// Logs the obstacle of a step, once per error code.
  bool stuck(handlers::Shutdown, const Error& why);
  /// Records the descendants of the roots, of the worker and of recorded processes. This comes before any signal,
  /// because afterwards nothing leads to them. False when the commit failed.
  bool record_family(handlers::Shutdown&, std::vector<ProcessRef> roots);
  /// Records the present descendants, at intervals.
  bool follow_family(handlers::Shutdown&);
  /// Commits the shutdown together with `beside`; false when that failed and nothing has changed.
  bool keep(const handlers::Shutdown&, const Work& beside);
  /// Returns a copy whose time limits start when the worker could read the request. Until then no limit is due.
  [[nodiscard]] Result<handlers::Shutdown> since_it_was_asked(handlers::Shutdown) const;
  /// Cancels the unsent request and its reminder.
  Status drop_words(const handlers::Shutdown&);
  /// Marks unread requests in the worker's inbox as read; returns the obstacle, if any.
  std::optional<Error> withdraw_words(const handlers::Shutdown&);
  void withdraw_given_up();
  Status notify_lead(const handlers::Shutdown&, Tx&);
  /// Keys of the leader's messages to this worker in its inbox here.
  [[nodiscard]] std::vector<schema::MessageKey> carried_words(const handlers::Shutdown&) const;

  TeamState& context_;
  Mailbox& mailbox_;
  RosterStore& members_;
  TaskBoard* board_;  // null: the leases of a member's tasks expire
  Panes& panes_;
  Processes& processes_;
  WorkerFamily family_;
  std::map<std::string, handlers::Shutdown> open_;  // by request id
  std::map<std::string, handlers::Shutdown> given_up_;
  std::map<std::string, std::string> told_;         // last logged obstacle, by request id
  std::map<std::string, SteadyTime> looked_;        // last check of the descendants, by request id
  std::vector<handlers::Shutdown> ended_;
};

}  // namespace inbox_poller::poller

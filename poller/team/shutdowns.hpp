// The shutdowns of one team: asks workers to end, follows each to its last trace. What to do next is decided in
// handlers/shutdown.hpp; this carries it out and records it. Each step is looked at before it is done and recorded
// after, so a crash at any point only repeats a look.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handlers/shutdown.hpp"
#include "poller/context/team_state.hpp"
#include "poller/mailbox/roster_store.hpp"
#include "poller/panes.hpp"
#include "poller/team/worker_family.hpp"

namespace inbox_poller::poller {

class Shutdowns {
 public:
  /// Of what another host orders: a hostile leader may invent ids.
  static constexpr std::size_t most_followed = 200;

  Shutdowns(TeamState& context, Mailbox& mailbox, RosterStore& members, Panes& panes, Processes& processes);

  /// Picks up every open shutdown from the ledger.
  Status restore();

  struct Order {
    std::string member;
    std::string by;
    std::string reason;
    std::optional<config::Duration> nudge_after;  // empty: as configured; zero: none
    std::optional<config::Duration> force_after;  // empty: as configured
    bool force = false;                           // at once, without asking it
  };
  /// Records where the worker lives, then sends the request. Not taken: member.unknown, shutdown.open (one is under
  /// way, named in the message; with `force` or `force_after` one that waits for its answer goes on sooner),
  /// worker.verifies (it would not obey, and `force` was not said; the message tells what that
  /// would end), shutdown.nothing_recorded (it lives, and nothing of it is on record that may be ended). Otherwise
  /// panes are never a reason to refuse. An error is the ledger's: the same order may be taken later.
  using Begun = std::variant<handlers::Shutdown, handlers::NotTaken>;
  boost::asio::awaitable<Result<Begun>> request(Order order);

  /// A worker that lives on another host: which, and how far that is with its end.
  struct Elsewhere {
    std::string host;
    bool ended = false;
    std::string tasks, detail;  // as that host tells
  };
  /// Asked of each worker; nothing for one who lives here.
  std::function<std::optional<Elsewhere>(const handlers::Shutdown&)> elsewhere = [](const auto&) { return std::nullopt; };

  /// What another host, which leads, orders for a worker here.
  struct Ordered {
    std::string request_id, member, by, reason;
  };
  /// Records it with where the worker lives, before anything is asked or ended. False when that is not on record: too
  /// many are open, nobody here has that name, or the ledger fails.
  boost::asio::awaitable<bool> follow(Ordered);
  /// The leader says that the worker agreed, or is to end without that. Why it is not ended, if it is not.
  std::optional<handlers::NotTaken> end_now(const std::string& request_id, bool forced);

  /// A worker's answer was committed: goes on from there.
  void answered(const handlers::Shutdown&);

  /// Takes each open shutdown one step further, as many steps as do not have to wait. Call once a tick.
  boost::asio::awaitable<void> run_due();

  /// Workers whose end was recorded since the last call.
  std::vector<handlers::Shutdown> take_ended() { return std::exchange(ended_, {}); }

  [[nodiscard]] std::vector<handlers::Shutdown> open() const;
  [[nodiscard]] bool under_way() const { return !open_.empty() || !ended_.empty(); }
  /// Members that have ended and whose place in the roster goes next.
  [[nodiscard]] std::vector<std::string> leaving() const;

 private:
  /// Goes on sooner, or at once, without the consent of a worker that was asked and has not answered. Empty when there
  /// is no such request, or the order says nothing of that.
  std::optional<Result<Begun>> hurry(const Order&);
  /// The one that is under way for this member, as a reason.
  [[nodiscard]] std::optional<handlers::NotTaken> open_for(const std::string& member) const;
  /// Why it cannot be asked or ended like this.
  [[nodiscard]] std::optional<handlers::NotTaken> hindered(const Order&, const handlers::WorkerPlace&);
  boost::asio::awaitable<handlers::WorkerPlace> place_of(schema::Member member);
  boost::asio::awaitable<handlers::ShutdownSight> look(handlers::Shutdown shutdown);
  /// One step; true when another one may follow at once.
  boost::asio::awaitable<bool> step(std::string id);
  boost::asio::awaitable<bool> close_pane(handlers::Shutdown shutdown);
  bool nudge(handlers::Shutdown);
  bool signal(handlers::Shutdown, int number);
  bool move(handlers::Shutdown, handlers::ShutdownEvent, const std::string& remark = {});
  bool remove_traces(handlers::Shutdown, handlers::ShutdownEvent);
  /// Says what hinders a step, once for each kind (the error's code).
  bool stuck(handlers::Shutdown, const Error& why);
  /// What descends from the roots, the worker and what is on record already is on record before anything is signalled
  /// or closed: afterwards nothing leads to it. False when that could not be committed.
  bool record_family(handlers::Shutdown&, std::vector<ProcessRef> roots);
  /// The same now and then.
  bool follow_family(handlers::Shutdown&);
  /// Commits the shutdown and what belongs beside it; false when that failed and nothing has changed.
  bool keep(const handlers::Shutdown&, const Work& beside);
  /// As it stands when its times run from the moment in which the request could be read; until then none is due.
  [[nodiscard]] Result<handlers::Shutdown> since_it_was_asked(handlers::Shutdown) const;
  /// The request and its reminder are owed no longer.
  Status drop_words(const handlers::Shutdown&);
  /// Marks them read where they stand unread; what hinders that, if anything does.
  std::optional<Error> withdraw_words(const handlers::Shutdown&);
  Status tell_lead(const handlers::Shutdown&, Tx&);
  /// The leader's words to this worker that stand in its inbox here.
  [[nodiscard]] std::vector<schema::MessageKey> carried_words(const handlers::Shutdown&) const;

  TeamState& context_;
  Mailbox& mailbox_;
  RosterStore& members_;
  Panes& panes_;
  Processes& processes_;
  WorkerFamily family_;
  std::map<std::string, handlers::Shutdown> open_;  // by request id
  std::map<std::string, std::string> told_;         // likewise: the kind of hindrance that was told last
  std::map<std::string, SteadyTime> looked_;        // likewise: when its family was looked at
  std::vector<handlers::Shutdown> ended_;
};

}  // namespace inbox_poller::poller

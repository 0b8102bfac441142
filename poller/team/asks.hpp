// The open asks of one team: who waits for what until when, who is asked (handlers/ask_route.hpp), and the one place
// where an answer of the lead or a person, a deadline or a departure becomes a decision. Deadlines run on the monotonic
// clock; the wall clock only carries them over a restart.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "handlers/dispatch.hpp"
#include "poller/context/team_context.hpp"
#include "poller/team/notifier.hpp"

namespace inbox_poller::poller {

class Asks {
 public:
  Asks(TeamContext& context, Notifier& notifier) : context_(context), notifier_(notifier) {}

  /// Picks up every open ask from the ledger.
  Status restore();

  /// Queues an ask for the lead session, where the lead is asked and it is not queued yet; in the open transaction.
  Status put_before_lead(const handlers::Ask& pending, EventBatch&);

  /// Notes an ask that was committed as pending. `folder`: where the lead's own session stands.
  void opened(const handlers::Ask&, const std::string& folder = {});
  /// Where a command of this open ask would run: for a worker's, where its session began; empty when nobody knows.
  [[nodiscard]] std::string folder_of(const handlers::Ask&) const;

  /// This worker has ended: whatever it asked until this moment is withdrawn.
  void ended(const std::string& asker, EpochMs at_ms, const std::string& why);

  /// Denies what is overdue, withdraws what nobody waits for any more, and sees to it that whoever is asked knows. Call
  /// once a tick.
  void settle();

  struct Taken {
    handlers::Ask request;
    std::string rule_added;  // with `always`: the rule that now holds for the session
  };
  struct Refusal {
    std::string code;
    std::string message;
  };
  /// An answer of the lead or a person. With `always` an approval also becomes a rule for the session.
  std::variant<Taken, Refusal> answer(const handlers::Ask&, const handlers::Answer&, bool always);

  /// Judges all open asks by the rules as they are now. Those that one of them allows or denies are answered by it, like
  /// a fresh ask; they are returned. A fault leaves an ask open.
  std::vector<handlers::Ask> judge_again();

  /// Wishes to stop that were granted since the last call: their shutdowns are to be begun.
  std::vector<handlers::Ask> take_granted_stops() { return std::exchange(granted_stops_, {}); }

  [[nodiscard]] std::vector<handlers::Ask> open() const;
  /// The open ask of this kind and id, or null; valid until the next call that may close one.
  [[nodiscard]] const handlers::Ask* find(handlers::AskKind, const std::string& id) const;
  [[nodiscard]] std::uint32_t pending_of(const std::string& asker) const;

 private:
  using Id = std::pair<handlers::AskKind, std::string>;
  struct Open {
    handlers::Ask request;
    SteadyTime deadline;  // of an ask that others answer: when we say that nobody does
    bool lead_knows = false;
    bool person_knows = false;  // or will, when its turn comes
    bool not_ours = false;      // its asker would refuse our answer
    SteadyTime look_again{};    // when it is not ours: whether that has changed
    std::string folder = {};
  };

  /// True when no answer of ours may be written; found out when one would be, and then looked at now and then.
  bool is_refused(Open&) const;
  void tell_unanswered(const handlers::Ask&);
  /// An ask that was another lead's to answer is ours now, with a deadline from now on.
  void take_over(Open&) const;
  void tell(Open&);
  /// What the lead has of an ask that is decided now: taken back, or followed by a word; in the open transaction.
  Status close_before_lead(const handlers::Ask& decided, EventBatch&);
  std::variant<Taken, Refusal> decide(const handlers::Ask&, const handlers::Answer&, bool always);
  /// The rule that this answer adds to the session, if any; a refusal when `always` was asked for and no rule is safe.
  std::variant<std::optional<SessionRule>, Refusal> rule_of(const handlers::Ask&, const handlers::Answer&,
                                                            bool always) const;

  TeamContext& context_;
  Notifier& notifier_;
  std::map<Id, Open> open_;
  std::vector<handlers::Ask> granted_stops_;
  std::set<Id> unanswered_;  // said so
};

}  // namespace inbox_poller::poller

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
#include "poller/context/team_state.hpp"
#include "poller/team/notifier.hpp"
#include "schema/operations/ask.hpp"

namespace inbox_poller::poller {

class Asks {
 public:
  Asks(TeamState& context, Notifier& notifier) : context_(context), notifier_(notifier) {}

  /// Picks up every open ask from the ledger.
  Status restore();

  /// Queues an ask for the lead session, where the lead is asked and it is not queued yet.
  Status put_before_lead(const handlers::Ask& pending, Tx&);

  /// Notes an ask that was committed as pending. `folder`: where the lead's own session stands.
  void opened(const handlers::Ask&, const std::string& folder = {});
  /// Where a command of this open ask would run: for a worker's, where its session began; empty when nobody knows.
  [[nodiscard]] std::string folder_of(const handlers::Ask&) const;

  /// An open ask as whoever looks is shown it, but for what its asker's processes tell: made once, and anew when the ask
  /// or the rules are others.
  operations::OpenAsk view_of(const handlers::Ask&);

  /// This worker has ended: whatever it asked until this moment is withdrawn.
  void ended(const std::string& asker, EpochMs at_ms, const std::string& why);

  /// Denies what is overdue, withdraws what nobody waits for any more, and sees to it that whoever is asked knows. Call
  /// once a tick.
  void run_due();

  struct Taken {
    handlers::Ask request;
    std::string rule_added;  // with `always`: the rule that now holds for the session
  };
  struct Refusal {
    std::string code;
    std::string message;
  };
  using Outcome = std::variant<Taken, Refusal>;
  /// An answer of the lead or a person. With `always` an approval also becomes a rule for the session.
  Outcome answer(const handlers::Ask& ask, const handlers::Answer& answer, bool always) {
    return answer_all(context_.ledger, {{this, ask, answer, always}}).front();
  }

  /// What is to become of one ask of one team.
  struct Wanted {
    Asks* team;
    handlers::Ask ask;
    handlers::Answer answer;
    bool always = false;
  };
  /// Answers of whoever gives them, for different asks, in one transaction. Each has its own outcome, in the order of
  /// `wanted`: one that cannot be recorded takes none of the others along.
  static std::vector<Outcome> answer_all(Ledger&, const std::vector<Wanted>& wanted);

  /// Judges all open asks by the rules as they are now. Those that one of them allows or denies are answered by it, like
  /// a fresh ask; they are returned. A fault leaves an ask open.
  std::vector<handlers::Ask> judge_again();

  /// Wishes to stop that were granted since the last call: their shutdowns are to be begun.
  [[nodiscard]] bool has_granted_stops() const { return !granted_stops_.empty(); }
  std::vector<handlers::Ask> take_granted_stops() { return std::exchange(granted_stops_, {}); }

  /// The open asks, the oldest first.
  [[nodiscard]] std::vector<handlers::Ask> open() const;
  /// The same, valid until the next call that may open or close one.
  [[nodiscard]] std::vector<const handlers::Ask*> oldest_first() const;
  /// The same, to be shown: none while another host leads, which has them and answers them.
  [[nodiscard]] std::vector<const handlers::Ask*> shown() const;
  [[nodiscard]] std::size_t count() const { return open_.size(); }
  /// The open ask of this name, or null; valid until the next call that may close one.
  [[nodiscard]] const handlers::Ask* find(const handlers::AskName&) const;
  [[nodiscard]] std::uint32_t pending_of(const std::string& asker) const;
  /// True when a rule of ours answered the ask of this id, so that a front may consume its message; or the ask that this
  /// message brought.
  [[nodiscard]] Result<bool> answered_by_rule(const std::string& request_id, const std::string& asker) const;
  [[nodiscard]] Result<bool> answered_by_rule(const schema::MessageKey&) const;

 private:
  struct Open {
    handlers::Ask request;
    SteadyTime deadline;  // of an ask that others answer: when we say that nobody does
    bool lead_knows = false;
    bool person_knows = false;  // or will, when its turn comes
    bool not_ours = false;      // its asker would refuse our answer
    SteadyTime look_again{};    // when it is not ours: whether that has changed
    std::string folder = {};
    struct Seen {
      std::uint64_t rules;
      std::string folder;
      EpochMs asked_ms;
      EpochMs deadline_ms;
      operations::OpenAsk view;
    };
    std::optional<Seen> seen = {};
  };

  /// True when no answer of ours may be written; found out when one would be, and then looked at now and then.
  bool is_refused(Open&) const;
  /// False when that could not be recorded: it is told later.
  bool tell_unanswered(const handlers::Ask&);
  /// An ask that was another lead's to answer is ours now, with a deadline from now on.
  void take_over(Open&) const;
  void tell(Open&);
  /// What the lead has of an ask that is decided now: taken back, or followed by a word.
  Status close_before_lead(const handlers::Ask& decided, Tx&);
  /// What an answer makes of an ask, not recorded yet.
  struct Decision {
    handlers::Decided made;
    std::optional<SessionRule> rule;
  };
  [[nodiscard]] std::variant<Decision, Refusal> decide(const Wanted&) const;
  Status record(const Wanted&, Decision&, Tx&);
  /// Once that is committed.
  void close(const Decision&);
  /// The rule that this answer adds to the session, if any; a refusal when `always` was asked for and no rule is safe.
  std::variant<std::optional<SessionRule>, Refusal> rule_of(const handlers::Ask&, const handlers::Answer&,
                                                            bool always) const;

  TeamState& context_;
  Notifier& notifier_;
  std::map<handlers::AskName, Open> open_;
  std::vector<handlers::Ask> granted_stops_;
  std::set<handlers::AskName> unanswered_;  // said so
};

}  // namespace inbox_poller::poller

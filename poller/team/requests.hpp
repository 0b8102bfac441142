// The open approval requests of one team. This is the only place where an answer, a deadline or a departure becomes a
// decision. handlers/request_route.hpp decides who is asked. Deadlines run on the steady clock; the wall clock only
// carries them over a restart. Decision thread only; `context` and `notifier` must outlive the object.
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
#include "schema/operations/request.hpp"

namespace inbox_poller::poller {

class Requests {
 public:
  Requests(TeamState& context, Notifier& notifier) : context_(context), notifier_(notifier) {}

  /// Loads every open request from the ledger. Errors: ledger.*.
  Status restore();

  /// Queues a request for the lead session if the lead is to be asked and has not been asked yet. Errors: ledger.*.
  Status put_before_lead(const handlers::Request& pending, Tx&);

  /// Adds a request that was committed as pending. `folder` is the folder of the lead's own session.
  void opened(const handlers::Request&, const std::string& folder = {});
  /// Folder in which the command of an open request would run. For a worker it is the folder of its session. Empty when
  /// unknown.
  [[nodiscard]] std::string folder_of(const handlers::Request&) const;

  /// Returns the cached view of an open request, without the state of the asker's processes. The view is rebuilt after
  /// the request or the rules have changed.
  operations::OpenRequest view_of(const handlers::Request&);

  /// Withdraws every request that this worker made until `at_ms` (wall clock), because the worker has ended. Keeps
  /// those of the worker that joined at `next_joined_ms` (by its node's clock); 0: none.
  void ended(const std::string& asker, EpochMs at_ms, EpochMs next_joined_ms, const std::string& why);

  /// Denies overdue requests, withdraws moot ones, and informs the lead or a person. Call once a tick.
  void run_due();

  struct Applied {
    handlers::Request request;
    std::string rule_added;  // rule that now holds for the session; set with `always`
  };
  using Refusal = handlers::NotTaken;
  using Outcome = std::variant<Applied, Refusal>;
  /// Records an answer of the lead or a person. With `always` an approval also becomes a rule for the session.
  Outcome answer(const handlers::Request& request, const handlers::Answer& answer, bool always) {
    return answer_all(context_.ledger, {{this, request, answer, always}}).front();
  }

  /// An answer to one request of one team.
  struct Wanted {
    Requests* team;
    handlers::Request request;
    handlers::Answer answer;
    bool always = false;
  };
  /// Records answers to different requests in one transaction. Returns one outcome per answer, in the order of
  /// `wanted`. An answer that cannot be recorded undoes only itself.
  static std::vector<Outcome> answer_all(Ledger&, const std::vector<Wanted>& wanted);

  /// Judges all open requests by the present rules. Returns the requests that a rule allowed or denied; they are
  /// answered like new ones. A fault leaves a request open.
  std::vector<handlers::Request> judge_again();

  /// True when shutdown requests of workers were approved since the last take_granted_stops(). Their shutdowns must be
  /// started.
  [[nodiscard]] bool has_granted_stops() const { return !granted_stops_.empty(); }
  std::vector<handlers::Request> take_granted_stops() { return std::exchange(granted_stops_, {}); }

  /// Copies of the open requests, oldest first.
  [[nodiscard]] std::vector<handlers::Request> open() const;
  /// Pointers to the open requests, oldest first; valid until the next call that may open or close one.
  [[nodiscard]] std::vector<const handlers::Request*> oldest_first() const;
  /// True on a node that does not lead: another node answers the requests of the team.
  [[nodiscard]] bool led_elsewhere() const {
    return context_.may(handlers::Right::carry) && !context_.may(handlers::Right::answer);
  }
  /// Open requests to show, oldest first. Empty while another node leads, because that node has and answers them.
  /// Without those that another leader got since and their node did not put again: they may be decided.
  [[nodiscard]] std::vector<const handlers::Request*> shown() const;
  /// Finds an open request by name; null when there is none. Valid until the next call that may close one.
  [[nodiscard]] const handlers::Request* find(const handlers::RequestName&) const;
  [[nodiscard]] std::uint32_t pending_of(const std::string& asker) const;
  /// True when a rule answered the request with this id, or the request in this message. An interceptor may then
  /// consume the message. Errors: ledger.*.
  [[nodiscard]] Result<bool> answered_by_rule(const std::string& request_id, const std::string& asker) const;
  [[nodiscard]] Result<bool> answered_by_rule(const schema::MessageKey&) const;

  /// Keeps an answer that another program gave at `timestamp` to a request that was not read yet.
  void answered_early(const handlers::RequestName&, const std::string& timestamp, handlers::Answer);
  /// Returns such an answer, given at or after the request's own time; empty if none is known.
  [[nodiscard]] std::optional<handlers::Answer> early_answer(const handlers::RequestRef&, const std::string& asker,
                                                             const std::string& asked_at) const;

 private:
  struct Open {
    handlers::Request request;
    SteadyTime deadline;  // if others must answer: when the request is reported as unanswered
    bool lead_knows = false;
    bool person_knows = false;  // or the notification is queued
    bool not_ours = false;      // the asker would reject our answer
    SteadyTime look_again{};    // if not ours: when to check that again
    std::string folder = {};
    struct Seen {
      std::uint64_t rules;
      std::string folder;
      EpochMs asked_ms;
      EpochMs deadline_ms;
      operations::OpenRequest view;
    };
    std::optional<Seen> seen = {};
  };

  /// True when the asker rejects our answers. Checked first when an answer is due, then at intervals.
  bool is_refused(Open&) const;
  /// True if another leader got the request since, and its node did not put it again. Never on one node.
  bool is_handed_over(const handlers::Request&) const;
  /// The refusal where another node decides; empty where this one may.
  std::optional<Refusal> not_here(const handlers::Request&, handlers::RequestEvent) const;
  /// Reports that others did not answer. False when the report could not be recorded; retry later.
  bool tell_unanswered(const handlers::Request&);
  /// Judges what was asked in another role, or under the rules of an earlier run, when the answers become ours.
  void begin_to_answer(bool ours);
  /// Makes a request ours that another lead was to answer, with a new deadline from now on.
  void adopt(Open&);
  void tell(Open&);
  /// Withdraws a decided request from the lead's queue, or queues a message about the decision if the lead has seen it.
  Status close_before_lead(const handlers::Request& decided, Tx&);
  /// Decision that an answer leads to, before it is recorded.
  struct Decision {
    handlers::Decided made;
    std::optional<SessionRule> rule;
  };
  [[nodiscard]] std::variant<Decision, Refusal> decide(const Wanted&) const;
  Status record(const Wanted&, Decision&, Tx&);
  /// Applies a committed decision to memory.
  void close(const Decision&);
  /// Returns the session rule that this answer adds, if any. A refusal when `always` was given and no rule is safe.
  std::variant<std::optional<SessionRule>, Refusal> rule_of(const handlers::Request&, const handlers::Answer&,
                                                            bool always) const;

  TeamState& context_;
  Notifier& notifier_;
  std::map<handlers::RequestName, Open> open_;
  std::vector<handlers::Request> granted_stops_;
  std::set<handlers::RequestName> unanswered_;  // and reported as such
  std::map<handlers::RequestName, std::pair<std::string, handlers::Answer>> early_;  // with the time of each
  bool was_ours_ = false;                                                            // to answer, at the last poll
};

}  // namespace inbox_poller::poller

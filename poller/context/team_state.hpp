// State that the parts of one team's service share: members, rights, rules and the recording services. Team owns it;
// the parts (Receiver, Requests, Outbox, Delivery) keep a reference. Decision thread only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "handlers/outgoing.hpp"
#include "poller/changes.hpp"
#include "poller/clock.hpp"
#include "poller/context/team_rules.hpp"
#include "poller/context/telemetry.hpp"
#include "poller/context/tx.hpp"
#include "poller/ledger/ledger.hpp"
#include "poller/worker_processes.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

class TeamState {
 public:
  TeamState(std::string team_name, const config::TeamConfig& team_config, std::string home_dir, Ledger& the_ledger,
              Telemetry& the_telemetry, const Clock& the_clock);

  const std::string name;
  config::TeamConfig config;  // our own copy: reconfigure() may replace it between two polls
  handlers::Membership membership;  // our rights; only Team changes them
  const std::string home;
  Ledger& ledger;
  Telemetry& telemetry;
  const Clock& clock;

  schema::Roster roster;
  TeamRules rules{config, roster};
  std::string lead;
  std::map<std::string, MemberRow> members;  // every name ever seen in the roster, with its data
  std::map<std::string, EpochMs> told;       // wall clock of our last text to a member; lost at a restart
  WorkerProcesses* workers = nullptr;        // source of AnswerAuthority; null: not available
  Changes* changes = nullptr;                // receives changes that no ledger row records
  std::function<Status()> guard;             // implementation of may_commit()

  [[nodiscard]] bool may(handlers::Right right) const { return membership.may(right); }

  /// Reports a visible change that no commit reports.
  void changed(Areas areas) const {
    if (changes != nullptr) changes->raise(areas);
  }

  /// Applies a new configuration. The name, the root and the lead stay.
  void reconfigure(const config::TeamConfig& fresh);

  /// Loads members and session rules from the ledger. Errors: ledger.*.
  Status restore();

  /// Applies a freshly read roster and records joined and departed members. Errors: ledger.*.
  Status adopt(schema::Roster fresh);

  /// Finds the owner of an inbox, present members before former ones. Returns the inbox's own name when there is no
  /// owner.
  [[nodiscard]] std::string owner_of(const std::string& inbox) const;

  /// True for a former member that was absent at our start or has been absent for a minute. The minute covers a roster
  /// that is just being rewritten and misses a member.
  [[nodiscard]] bool has_left(const std::string& member) const;

  /// Authority of our answers to this worker.
  [[nodiscard]] handlers::AnswerAuthority answer_authority(const std::string& member) const;
  /// Logs once for each worker that it rejects our answers, when one was due.
  void warn_of(const std::string& member, const handlers::AnswerAuthority&);
  /// State of the worker, from the processes of this user.
  [[nodiscard]] WorkerProcesses::Sight sight_of(const std::string& member) const;

  [[nodiscard]] handlers::TeamView view() const;

  /// Commits one unit of work in a transaction of its own: tx.hpp. Errors: ledger.*, "cluster.no_lease".
  Status commit(Work work, CommitAs as = CommitAs::decision);
  /// Returns "cluster.no_lease" while another node may lead. This is not a fault; do not log it.
  [[nodiscard]] Status may_commit() const;
  /// Records the outcome of the last ledger access. Logs the first failure, and the first success after it. In between
  /// nothing is accepted, answered or marked. An error that is not ledger.* is no failure: the work refused.
  void heard_of_ledger(const Status&);
  /// Error of the last commit; empty after a success.
  [[nodiscard]] const std::string& ledger_fault() const { return ledger_fault_; }

  /// Returns the decisions of the last day, latest first, for follow-up work that a restart interrupted. Errors:
  /// ledger.*.
  Result<std::vector<std::pair<std::string, handlers::Request>>> recent_decisions();

 private:
  std::vector<std::string> former_members_;
  std::map<std::string, SteadyTime> absent_since_;
  std::string ledger_fault_;
  std::map<std::string, std::optional<long long>> told_of_;  // workers that reject our answers, with their joining time
};

}  // namespace inbox_poller::poller

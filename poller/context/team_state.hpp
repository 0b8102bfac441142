// What the parts of one team's service share: who is in the team, what is allowed, where things are recorded. Owned by
// Team; the parts (Intake, Asks, Outbox, Delivery) hold a reference. Everything here lives on the daemon's one decision
// thread.
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
  handlers::Membership standing;  // what we may do; Team alone changes it
  const std::string home;
  Ledger& ledger;
  Telemetry& telemetry;
  const Clock& clock;

  schema::Roster roster;
  TeamRules rules{config, roster};
  std::string lead;
  std::map<std::string, MemberRow> members;  // every name that was ever in the roster, with what is known of it
  std::map<std::string, EpochMs> told;       // when we last sent it a text; a restart forgets that
  WorkerProcesses* workers = nullptr;        // where it can be told whose answers a worker takes
  Changes* changes = nullptr;                // told of what changes without a row of the ledger
  std::function<Status()> guard;             // what may_commit() says

  [[nodiscard]] bool may(handlers::Right right) const { return standing.may(right); }

  /// What people see of this has changed, and no commit tells it.
  void changed(Areas areas) const {
    if (changes != nullptr) changes->raise(areas);
  }

  /// Another configuration holds from now on. The name, the root and the lead stay.
  void reconfigure(const config::TeamConfig& fresh);

  /// Loads members and session rules from the ledger.
  Status restore();

  /// Takes over a freshly read roster: notes who joined and who left.
  Status adopt(schema::Roster fresh);

  /// The member whose inbox this is, one of now before one that has left; the inbox's own name when nobody's.
  [[nodiscard]] std::string owner_of(const std::string& inbox) const;

  /// True for somebody who was a member and is none any more: since before our start, or for a minute. (A roster that
  /// is just being rewritten may miss a member for a moment.)
  [[nodiscard]] bool has_left(const std::string& member) const;

  /// Whether this worker takes answers of ours.
  [[nodiscard]] handlers::AnswerAuthority worth(const std::string& member) const;
  /// That it does not, where one would have been written: logged once for each worker.
  void warn_of(const std::string& member, const handlers::AnswerAuthority&);
  /// What the processes of this user tell of it.
  [[nodiscard]] WorkerProcesses::Sight sight_of(const std::string& member) const;

  [[nodiscard]] handlers::TeamView view() const;

  /// One unit of work in a transaction of its own: tx.hpp.
  Status commit(Work work, CommitAs as = CommitAs::decision);
  /// An error: nothing else may be committed now, though nothing is broken ("hosts.no_lease").
  [[nodiscard]] Status may_commit() const;
  /// How it went with the ledger last. A failing one is logged once, and once more when it works again; until then
  /// nothing is accepted, answered or marked.
  void heard_of_ledger(const Status&);
  /// Why the last commit failed; empty when it did not.
  [[nodiscard]] const std::string& ledger_fault() const { return ledger_fault_; }

  /// What was decided in the last day, the last decision first: for whatever was to follow it before a restart.
  Result<std::vector<std::pair<std::string, handlers::Ask>>> recent_decisions();

 private:
  std::vector<std::string> former_members_;
  std::map<std::string, SteadyTime> absent_since_;
  std::string ledger_fault_;
  std::map<std::string, std::optional<long long>> told_of_;  // who takes no answers of ours, and when it had joined
};

}  // namespace inbox_poller::poller

// Decides about the texts with which workers end their turns: whether the worker had sent the lead nothing, and what
// the lead gets. A message of the turn may still be unread when its end is reported, so each decision waits for a poll
// that began after the report and read all of the lead's inboxes. Not for the question whose hook reported. Source:
// docs/adr/0070.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "handlers/unsent_report.hpp"
#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

/// The end of a worker's turn, as its Stop hook reported it.
struct ReportedTurn {
  std::string worker;  // a member's name
  handlers::TurnId id;
  std::string text;
  bool went_wrong = false;  // the text is the client's, about an error
};

class UnsentReports {
 public:
  explicit UnsentReports(TeamState& context) : context_(context) {}

  /// Called once with the key of the kept text, after the commit; empty if nothing is kept. Must not wait.
  using Decided = std::function<void(const std::string& key)>;
  /// Takes the end of a turn. The same turn again gets the same decision. Memory only: a restart of the daemon before
  /// the decision forgets it.
  void ended(ReportedTurn turn, Decided decided);

  /// Call when a poll begins, before it looks at anything. True if this poll must read the lead's inboxes.
  bool begin_poll();
  /// Decides what waited when the poll began. `read_all`: the poll has read all of the lead's inboxes.
  void run_due(bool read_all);

 private:
  struct Waiting {
    ReportedTurn turn;
    std::vector<Decided> told;
    SteadyTime since;
    bool precedes_poll = false;  // it waited when the present poll began
  };
  /// Decides and records. Errors: ledger.*, "cluster.no_lease"; then nothing is decided.
  Result<std::string> decide(const ReportedTurn&);
  Status keep(const ReportedTurn&, handlers::Lane, MemberRow&, Tx&) const;
  [[nodiscard]] bool is_repeat(const ReportedTurn&, const MemberRow&) const;

  TeamState& context_;
  std::map<std::string, Waiting> waiting_;        // by worker
  std::map<std::string, SteadyTime> decided_at_;  // by worker; lost at a restart
};

}  // namespace inbox_poller::poller

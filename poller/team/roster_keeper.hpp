// Reads the team's roster when it has changed, applies it, and keeps a copy, because clients may leave its file empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "poller/context/team_state.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// State of the roster at the last poll, for `status`.
struct RosterReport {
  std::string state = "not read yet";  // ok, empty, unreadable
  std::string detail;
};

class RosterKeeper {
 public:
  RosterKeeper(TeamState& context, RosterStore& members) : context_(context), members_(members) {}

  /// Gives the roster that the last process saw to the members' files. Errors: ledger.*.
  Status restore();

  enum class Seen {
    as_before,
    changed,     // read and applied; also when the kept copy replaces a lost one
    no_team,     // the folder is not a team (any more)
    unreadable,  // and no known member yet
  };
  Seen look();
  /// Looks in the middle of a poll, so that a worker that has joined since its begin is known. What is new counts as new
  /// for the next look(), too.
  void look_ahead() { has_changed_ = look() == Seen::changed || has_changed_; }
  /// Applies the roster again at the next read, because the configuration has changed.
  void read_again() { is_adopted_ = false; }
  /// Writes the last seen roster into an empty file, without the members in `leaving`. Call only when this node is the
  /// team's only leader.
  void mend(const std::vector<std::string>& leaving);

  [[nodiscard]] const RosterReport& report() const { return report_; }

 private:
  /// Stores the last read roster in the ledger, for the next process; within a second at the latest.
  void keep(const RosterCopy&);
  /// Serves the team from the last seen roster, because the file is empty.
  Seen do_without();

  TeamState& context_;
  RosterStore& members_;
  RosterReport report_;
  std::string problem_;               // the last logged one
  bool is_lost_ = false;              // "roster.lost" in the last scan
  std::optional<std::size_t> kept_;   // hash of the roster in the ledger
  SteadyTime kept_since_;
  bool has_roster_ = false;
  bool has_changed_ = false;     // look_ahead() has applied a roster, and look() has not told so yet
  bool is_adopted_ = false;  // true once the members' files know the last read roster
};

}  // namespace inbox_poller::poller

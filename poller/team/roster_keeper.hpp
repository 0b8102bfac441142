// The team's roster: read where it has changed, adopted, and kept, because clients may leave its file empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "poller/context/team_state.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// How the roster looked at the last poll, for `status`.
struct RosterReport {
  std::string state = "not read yet";  // ok, empty, unreadable
  std::string detail;
};

class RosterKeeper {
 public:
  RosterKeeper(TeamState& context, RosterStore& members) : context_(context), members_(members) {}

  /// What the last process saw is known to the members' files, too.
  Status restore();

  enum class Seen {
    as_before,
    anew,        // read and adopted; also when what was kept serves instead of a lost one
    no_team,     // the folder is none (any more)
    unreadable,  // and nobody to answer to yet
  };
  Seen look();
  /// Adopts it once more, although it does not change: the configuration has.
  void read_again() { is_adopted_ = false; }
  /// Puts back what was last seen, where the file holds nothing. `leaving`: without them. Only for the team's only leader.
  void mend(const std::vector<std::string>& leaving);

  [[nodiscard]] const RosterReport& report() const { return report_; }

 private:
  /// What was read last is in the ledger, or will be within a second: for the next process.
  void keep(const RosterCopy&);
  /// The file holds nothing: the team is served by what was last seen in it.
  Seen do_without();

  TeamState& context_;
  RosterStore& members_;
  RosterReport report_;
  std::string problem_;               // that was told
  std::optional<std::size_t> kept_;   // a hash of what the ledger has
  SteadyTime kept_since_;
  bool has_roster_ = false;
  bool is_adopted_ = false;  // what the members' files read last
};

}  // namespace inbox_poller::poller

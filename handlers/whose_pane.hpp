// Whether the tmux pane that the roster gives a worker is the worker's. Invariant: a pane is closed, and its processes
// are ended, only if the pane is certainly the worker's. Pure. Source: docs/adr/0007.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/shutdown.hpp"

namespace inbox_poller::handlers {

/// A pane is opened for its worker, at most this long before the roster has the worker. An earlier pane belonged to
/// another program.
inline constexpr EpochMs joining_ms = 120'000;
/// The roster can name a pane only after it was opened. A pane that is younger than its worker by more than this, which
/// is left to two clocks, reuses the number.
inline constexpr EpochMs later_ms = 15'000;

/// Returns why the roster forbids touching this member's pane, a sentence; empty if it does not. `names_pane`: the
/// roster has the id of a tmux pane.
std::string left_alone(const schema::Member&, bool names_pane, const schema::Roster&);

/// One process in the pane.
struct PaneProcess {
  ProcessRef process;
  std::string agent_id = {};  // of the worker on its command line; or empty
  bool ours = false;     // this program's own process
  bool leads = false;    // the lead's process
};
struct PaneOwner {
  std::string left_alone;          // why it is not the worker's, a sentence; empty if it is
  std::vector<ProcessRef> worker;  // processes that name the worker; empty if only the pane's age proves it
};
/// Returns the owner. `started_ms`: the start of the pane's first process; 0: unknown.
PaneOwner owner_of(const schema::Member&, const std::vector<PaneProcess>&, EpochMs started_ms);

/// Returns why the shutdown of this worker cannot begin: the worker would refuse the request (`worth`), or no recorded
/// process may be ended while process `living` (0: unseen) lives. `force`: no request is sent.
std::optional<NotTaken> no_beginning(std::string_view member, bool force, const AnswerAuthority&, const WorkerPlace&,
                                     long long living);
/// Returns the same for a worker inside another process, which cannot be ended from outside.
NotTaken only_by_itself(std::string_view member);

}  // namespace inbox_poller::handlers

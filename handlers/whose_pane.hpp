// Whose tmux pane it is that the roster gives a worker: it is closed, and what lives in it ended, only when it is
// certainly the worker's. Pure. Source: docs/adr/0007.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/shutdown.hpp"

namespace inbox_poller::handlers {

/// A pane is opened for its worker, so both begin within this time. One that began later is another one of the same
/// number; one that began earlier was somebody's before.
inline constexpr EpochMs joining_ms = 120'000;

/// What the roster alone says against touching the pane of this member, a sentence; empty when nothing does.
/// `names_pane`: what it has there is the id of a tmux pane.
std::string left_alone(const schema::Member&, bool names_pane, const schema::Roster&);

/// One process of those that live in the pane.
struct PaneProcess {
  ProcessRef process;
  std::string agent_id = {};  // the worker that its command line names; or empty
  bool ours = false;     // this program's own
  bool leads = false;    // the lead's
};
struct PaneOwner {
  std::string left_alone;          // why it is not the worker's, a sentence; empty when it is
  std::vector<ProcessRef> worker;  // the processes that name the worker; none when only the pane's age speaks for it
};
/// `started_ms`: when the pane's first process began; 0 when that cannot be told.
PaneOwner owner_of(const schema::Member&, const std::vector<PaneProcess>&, EpochMs started_ms);

/// Why the shutdown of this worker cannot begin: it would not obey (`worth`), or nothing on record may be ended while
/// it lives as process `living` (0: none is seen). `force`: it is not asked.
std::optional<NotTaken> no_beginning(std::string_view member, bool force, const AnswerAuthority&, const WorkerPlace&,
                                     long long living);
/// The same for one that lives inside another process, of which nothing can be ended from outside.
NotTaken only_by_itself(std::string_view member);

}  // namespace inbox_poller::handlers

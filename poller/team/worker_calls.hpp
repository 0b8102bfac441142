// Tool calls of workers, judged by the team's rules before the worker asks anybody: its client's hook tells of each.
// Whose session it is is looked up in what the kernel knows of the hook's process; where the client covers its command
// line, in the roster's session or pane. An allow or deny by rule is recorded before it is answered; what no rule
// decides is neither, and goes its usual way. Sources: docs/reference/wire.md W25; docs/adr/0022.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "handlers/permission.hpp"
#include "poller/context/team_state.hpp"
#include "poller/panes.hpp"
#include "poller/processes.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller {

/// The client that runs a hook: the first process above the hook that was not only started to start it.
struct HookClient {
  ProcessRef process;
  std::optional<ProcessRef> parent;
  std::string agent_id;  // as its command line says; empty for a lead, and for what cannot be read
};
/// None when the hook's process is not known, or nothing of ours.
std::optional<HookClient> client_of(Processes&, long long hook);

class WorkerCalls {
 public:
  WorkerCalls(TeamState& context, Panes& panes, Processes& processes)
      : context_(context), panes_(panes), processes_(processes) {}

  /// The worker whose session this is; empty when it is none of this team. `pane`: where the hook says it runs.
  boost::asio::awaitable<std::string> worker_of(HookClient client, std::string session, std::string pane);

  /// Why nothing is decided at hooks here; empty when it is.
  [[nodiscard]] std::string why_silent() const;

  /// The decision about this call, recorded: the same call gets the same one. None: no rule decides.
  Result<std::optional<handlers::Ask>> decide(const std::string& worker, const handlers::Call& call);

 private:
  boost::asio::awaitable<bool> lives_in(HookClient client, std::string pane);

  TeamState& context_;
  Panes& panes_;
  Processes& processes_;
  std::map<std::string, Pane> seen_panes_;  // by id; each as long as its first process lives
};

}  // namespace inbox_poller::poller

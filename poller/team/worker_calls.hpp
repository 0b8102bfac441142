// Judges tool calls of workers by the team's rules before the worker asks. The client's hook reports each call. The
// kernel's data on the hook's process identifies the worker. If the client hides its command line, the roster's session
// or pane does. A decision by an allow or deny rule is recorded before the reply. Other calls are neither recorded nor
// answered. Sources: docs/reference/wire.md W25; docs/adr/0022.
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

/// The client that runs a hook: the first process above the hook that does more than start it.
struct HookClient {
  ProcessRef process;
  std::optional<ProcessRef> parent;
  std::string agent_id;  // from its command line; empty for a lead, or if unreadable
};
/// Finds the client above a hook's process; empty when that process is unknown or not ours.
std::optional<HookClient> client_of(Processes&, long long hook);

class WorkerCalls {
 public:
  WorkerCalls(TeamState& context, Panes& panes, Processes& processes)
      : context_(context), panes_(panes), processes_(processes) {}

  /// Returns the worker of this session; empty when it is not in this team. `pane` is the hook's own statement.
  boost::asio::awaitable<std::string> worker_of(HookClient client, std::string session, std::string pane);

  /// Returns the reason why hooks get no decisions here; empty when they do.
  [[nodiscard]] std::string why_silent() const;

  /// Returns the recorded decision about this call; the same call gets the same decision. Empty when no rule decides.
  Result<std::optional<handlers::Request>> decide(const std::string& worker, const handlers::Call& call);

 private:
  boost::asio::awaitable<bool> lives_in(HookClient client, std::string pane);

  TeamState& context_;
  Panes& panes_;
  Processes& processes_;
  std::map<std::string, Pane> seen_panes_;  // by id; kept while the pane's first process lives
};

}  // namespace inbox_poller::poller

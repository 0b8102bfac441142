// The mailbox systems: the places of their teams, and the opening of a team. Source: docs/adr/0030-the-port.md.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/task_events.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/mailbox/roster_store.hpp"

namespace inbox_poller::poller {

/// One team, open. The members may be one object.
struct OpenTeam {
  std::shared_ptr<Mailbox> mailbox;
  std::shared_ptr<RosterStore> members;
  std::shared_ptr<TaskBoard> board = {};   // null: members claim tasks themselves
  std::shared_ptr<TaskEvents> tasks = {};  // null: nobody needs to keep them in order
};

/// A mailbox system, without state. One object of each system lives until the process ends.
class MailboxSystem {
 public:
  virtual ~MailboxSystem() = default;

  /// Lists names below the configured place that may be teams, sorted.
  virtual Result<std::vector<std::string>> list(FileSystem&, const config::TeamConfig&) const = 0;
  /// Returns true if the team exists now. An error says why it must not be served.
  virtual Result<bool> is_team(FileSystem&, const config::TeamConfig&, const std::string& name) const = 0;
  /// Returns the place of the team, for people.
  [[nodiscard]] virtual std::string location(const config::TeamConfig&, const std::string& name) const = 0;
  /// Returns the folder whose changes start a poll early; empty if the system has no such folder.
  [[nodiscard]] virtual std::string hints_of(const config::TeamConfig&, const std::string& name) const = 0;
  /// Returns the folder of the roster, if polls rely on hints of its changes; otherwise empty.
  [[nodiscard]] virtual std::string roster_hints_of(const config::TeamConfig&, const std::string& /*name*/) const { return {}; }
  /// Opens a team, of which nothing need exist yet. Large files are read on the pool. `state_dir` is for data that must
  /// survive a restart.
  virtual OpenTeam open(FileSystem&, const Clock&, boost::asio::thread_pool&, const config::TeamConfig&,
                        const std::string& name, const std::string& state_dir) const = 0;
};

/// Returns the system that the configuration names.
const MailboxSystem& system_of(const config::TeamConfig&);

}  // namespace inbox_poller::poller

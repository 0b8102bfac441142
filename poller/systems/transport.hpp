// The mailbox systems as wholes: where the teams of one are, and one team opened. Source: docs/adr/0030-the-port.md.
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

/// A mailbox system. Stateless: there is one object for each, for ever.
class MailboxSystem {
 public:
  virtual ~MailboxSystem() = default;

  /// Names below the configured place that may be teams, sorted; for a configuration that names a glob.
  virtual Result<std::vector<std::string>> list(FileSystem&, const config::TeamConfig&) const = 0;
  /// Whether there is a team of this name now. An error says why it must not be served.
  virtual Result<bool> is_team(FileSystem&, const config::TeamConfig&, const std::string& name) const = 0;
  /// For people: where the team is.
  [[nodiscard]] virtual std::string place_of(const config::TeamConfig&, const std::string& name) const = 0;
  /// A folder where a change is a reason to look into the boxes sooner.
  [[nodiscard]] virtual std::string hints_of(const config::TeamConfig&, const std::string& name) const = 0;
  /// Nothing of the team need exist yet. Big files are read on the pool; `state_dir`: where a system may keep what it
  /// must know over a restart.
  virtual OpenTeam open(FileSystem&, const Clock&, boost::asio::thread_pool&, const config::TeamConfig&,
                        const std::string& name, const std::string& state_dir) const = 0;
};

/// The one that the configuration names.
const MailboxSystem& system_of(const config::TeamConfig&);

}  // namespace inbox_poller::poller

// A mailbox system as a whole: which teams it has, and one team opened. Source: docs/adr/0030-the-port.md.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/mailbox/members.hpp"

namespace inbox_poller::poller {

/// One team, open. What is behind the two may be one object.
struct OpenTeam {
  std::shared_ptr<Mailbox> mailbox;
  std::shared_ptr<Members> members;
};

/// Opens a team with the system that its configuration names. Nothing of it need exist yet. `state_dir`: where a system
/// may keep what it must know over a restart.
OpenTeam open_team(FileSystem& files, const Clock& clock, boost::asio::thread_pool& pool,
                   const config::TeamConfig& config, const std::string& name, const std::string& state_dir);

}  // namespace inbox_poller::poller

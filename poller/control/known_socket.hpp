// Where the daemon of a state folder listens, for clients whose environment would have it elsewhere: XDG_RUNTIME_DIR
// differs between a login, cron, sudo and a service. The daemon keeps a link of the default name in its state folder.
#pragma once

#include <string>

#include "config/config.hpp"

namespace inbox_poller::poller {

/// The link, for as long as the daemon lives. One that a killed daemon left is replaced. What goes wrong costs only the
/// convenience, so it is not told. The ledger's lock keeps other daemons away.
class KnownSocket {
 public:
  explicit KnownSocket(const config::DaemonConfig&);
  ~KnownSocket();
  KnownSocket(const KnownSocket&) = delete;
  KnownSocket& operator=(const KnownSocket&) = delete;

 private:
  const std::string socket_;
  const std::string link_;
};

/// The configured socket, or, where nobody answers on that, the one that the daemon of this state folder listens on.
std::string reachable_socket(const config::DaemonConfig&);

}  // namespace inbox_poller::poller

// Locates the socket of a state folder's daemon for clients with another environment. XDG_RUNTIME_DIR differs between a
// login, cron, sudo and a service. The daemon therefore keeps a link of the default name in its state folder.
#pragma once

#include <string>

#include "config/config.hpp"

namespace inbox_poller::poller {

/// Link to the daemon's socket, for the daemon's lifetime. Replaces the link of a killed daemon. Failures are ignored,
/// because they cost only convenience. The ledger's lock excludes other daemons.
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

/// Returns the configured socket. If no daemon answers on it, returns the socket of this state folder's daemon.
std::string reachable_socket(const config::DaemonConfig&);

}  // namespace inbox_poller::poller

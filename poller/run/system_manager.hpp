// Tells a service manager (systemd's notify protocol: one datagram to $NOTIFY_SOCKET) that we are ready, alive,
// stopping. Does nothing where there is none. Source: sd_notify(3); the protocol is a stable interface that needs no
// library.
#pragma once

#include <string>

namespace inbox_poller::poller {

class SystemManager {
 public:
  /// Reads NOTIFY_SOCKET from the environment and removes it, so that no child speaks in our name.
  SystemManager();

  void ready();
  /// Feeds the watchdog; `status` is what `systemctl status` shows.
  void alive(const std::string& status);
  void stopping();

 private:
  void send(const std::string& message);
  std::string path_;
};

}  // namespace inbox_poller::poller

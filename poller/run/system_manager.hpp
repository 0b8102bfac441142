// Notifies a service manager that the daemon is ready, alive or stopping, by systemd's protocol: one datagram to
// $NOTIFY_SOCKET. Does nothing without this variable. Source: sd_notify(3), a stable protocol that needs no library.
#pragma once

#include <string>

namespace inbox_poller::poller {

class SystemManager {
 public:
  /// Reads NOTIFY_SOCKET and removes it from the environment, so that no child notifies in the daemon's name.
  SystemManager();

  void ready();
  /// Feeds the watchdog; `systemctl status` shows the text `status`.
  void alive(const std::string& status);
  void stopping();

 private:
  void send(const std::string& message);
  std::string path_;
};

}  // namespace inbox_poller::poller

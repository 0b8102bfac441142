#include "poller/run/system_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace inbox_poller::poller {

SystemManager::SystemManager() {
  if (const char* path = std::getenv("NOTIFY_SOCKET"); path != nullptr) path_ = path;
  ::unsetenv("NOTIFY_SOCKET");
}

void SystemManager::ready() { send("READY=1"); }
void SystemManager::alive(const std::string& status) { send("WATCHDOG=1\nSTATUS=" + status); }
void SystemManager::stopping() { send("STOPPING=1"); }

void SystemManager::send(const std::string& message) {
  sockaddr_un address{};
  if (path_.empty() || path_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';  // an abstract address
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  // Best effort: a manager that does not listen must not stop the daemon.
  [[maybe_unused]] const auto sent =
      ::sendto(fd, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&address), length);
  ::close(fd);
}

}  // namespace inbox_poller::poller

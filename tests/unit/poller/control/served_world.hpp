// A World that is really served: the poll loop with real files, a real ledger and real timers.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "poller/filesystem.hpp"
#include "poller/run/poll_loop.hpp"
#include "tests/support/patience.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::test {

inline void poll_often(config::TeamConfig& config) { config.team.poll_interval = std::chrono::milliseconds(20); }

inline config::TeamConfig with(config::TeamConfig config, const std::function<void(config::TeamConfig&)>& adapt) {
  adapt(config);
  return config;
}

/// The service manager's end: counts how often the loop has looked for teams, of which it tells each time.
class Looks {
 public:
  explicit Looks(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("no socket at " + path);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  int count() {
    char told[256];
    for (ssize_t size = 0; (size = ::recv(socket_.get(), told, sizeof told, 0)) > 0;)
      count_ += std::string_view(told, static_cast<std::size_t>(size)).find("WATCHDOG=1") != std::string_view::npos;
    return count_;
  }

 private:
  Fd socket_;
  int count_ = 0;
};

/// A loop that serves the World's folder of teams.
struct Served {
  FileWorld world{poll_often};
  Looks looks{world.scratch.path("notify").string()};
  SystemManager manager;
  PollLoop loop;
  bool ended = false;
  std::exception_ptr failure;

  explicit Served(const std::function<void(config::TeamConfig&)>& adapt = [](config::TeamConfig&) {})
      : loop(*world.services, {with(world.config, adapt)}, manager) {
    boost::asio::co_spawn(world.context, loop.run(std::nullopt), [this](std::exception_ptr thrown) {
      failure = thrown;
      ended = true;
    });
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    loop.stop();
    until([this] { return ended; });
  }

  /// False when it has not become true after a long time.
  bool until(const std::function<bool()>& condition) {
    return holds_after(condition, [this] {
      if (world.context.stopped()) world.context.restart();
      looks.count();  // so that it finds room to tell
      world.context.run_for(std::chrono::milliseconds(10));  // clock: until the condition is checked again
    });
  }
  /// Runs until the loop has looked for teams so many times more (twice a second), with all polls in between: a thing that has not
  /// happened by then does not happen.
  void looked(int times = 2) {
    const int before = looks.count();
    CHECK(until([&] { return looks.count() > before + times; }));
  }

  [[nodiscard]] Team* team(const std::string& name = "t") const {
    const auto found = loop.teams().find(name);
    return found == loop.teams().end() ? nullptr : found->second.get();
  }
};

}  // namespace inbox_poller::test

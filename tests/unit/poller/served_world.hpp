// A World that is really served: the poll loop with real files, a real ledger and real timers.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "poller/run/poll_loop.hpp"
#include "tests/unit/poller/team_world.hpp"

namespace inbox_poller::test {

inline void poll_often(config::TeamConfig& config) { config.team.poll_interval = std::chrono::milliseconds(20); }

inline config::TeamConfig with(config::TeamConfig config, const std::function<void(config::TeamConfig&)>& adapt) {
  adapt(config);
  return config;
}

/// A loop that serves the World's folder of teams.
struct Served {
  FileWorld world{poll_often};
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
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (world.context.stopped()) world.context.restart();
      world.context.run_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  void run_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    until([end] { return std::chrono::steady_clock::now() >= end; });
  }

  [[nodiscard]] Team* team(const std::string& name = "t") const {
    const auto found = loop.teams().find(name);
    return found == loop.teams().end() ? nullptr : found->second.get();
  }
};

}  // namespace inbox_poller::test

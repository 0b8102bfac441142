// Finds the teams that the configuration names, serves each with coroutines of its own, and lets them go when they
// vanish. A slow team delays no other: all waiting is done in awaits, big reads on the pool.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poller/run/service_manager.hpp"
#include "poller/run/task_group.hpp"
#include "poller/run/team.hpp"

namespace inbox_poller::poller {

class PollLoop {
 public:
  PollLoop(Services& services, const std::vector<config::TeamConfig>& configs, ServiceManager& manager);

  /// Serves until stop(), or until every team was polled `polls` times. Throws what a team's task threw.
  boost::asio::awaitable<void> run(std::optional<unsigned> polls);
  /// Finishes the polls under way and returns from run().
  void stop();

  [[nodiscard]] const std::map<std::string, std::shared_ptr<Team>>& teams() const { return teams_; }
  [[nodiscard]] const std::vector<config::TeamConfig>& configs() const { return configs_; }

 private:
  void discover(std::optional<unsigned> polls);
  void adopt(const config::TeamConfig& config, const std::string& name, std::optional<unsigned> polls);
  boost::asio::awaitable<void> serve(std::shared_ptr<Team> team, std::optional<unsigned> polls);
  boost::asio::awaitable<void> deliver(std::shared_ptr<Team> team);
  void warn_once(const std::string& text);

  Services& services_;
  const std::vector<config::TeamConfig>& configs_;
  ServiceManager& manager_;
  boost::asio::steady_timer timer_;
  TaskGroup tasks_;
  std::map<std::string, std::shared_ptr<Team>> teams_;
  std::set<std::string> warned_;
  bool stopping_ = false;
};

}  // namespace inbox_poller::poller

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

#include "poller/folder_watch.hpp"
#include "poller/run/system_manager.hpp"
#include "poller/run/task_group.hpp"
#include "poller/team/team.hpp"

namespace inbox_poller::poller {

/// What a reload did, by team name or glob.
struct ReloadReport {
  std::vector<std::string> added, removed, changed;
  std::vector<std::string> restart;  // settings that were changed in the files and hold only after a restart
  std::vector<std::pair<std::string, handlers::Ask>> answered = {};  // open asks that the new rules decided, by team
};

class PollLoop {
 public:
  PollLoop(Runtime& services, std::vector<config::TeamConfig> configs, SystemManager& manager);

  /// Serves until stop(), or until every team was polled `polls` times. Throws what a team's task threw.
  boost::asio::awaitable<void> run(std::optional<unsigned> polls);
  /// From now on `look` is called twice a second: for whatever was opened once and may be taken away.
  void look_after(std::function<void()> look) { look_after_ = std::move(look); }
  /// Finishes the polls under way and returns from run().
  void stop();

  /// Takes over another set of team configurations. A team that none of them names any more is let go once its poll
  /// under way is finished; one that changed in what it is built on (root, transport, lead, role, tasks, tmux, the size
  /// limit of an inbox) is let go and found again; every other one goes on without a break.
  ReloadReport reload(std::vector<config::TeamConfig> configs);

  [[nodiscard]] const std::map<std::string, std::shared_ptr<Team>>& teams() const { return teams_; }
  [[nodiscard]] const std::vector<config::TeamConfig>& configs() const { return configs_; }

 private:
  void discover(std::optional<unsigned> polls);
  void adopt(const config::TeamConfig& config, const std::string& name, std::optional<unsigned> polls);
  boost::asio::awaitable<void> serve(std::shared_ptr<Team> team, std::optional<unsigned> polls);
  /// Starts what runs beside this team's polls, the push of chat and its errands, unless it runs already.
  void push(const std::shared_ptr<Team>& team);
  boost::asio::awaitable<void> deliver(std::shared_ptr<Team> team);
  boost::asio::awaitable<void> run_errands(std::shared_ptr<Team> team);
  /// One of the parts of its service between hosts.
  using HostPart = boost::asio::awaitable<void> (ClusterMember::*)(std::function<bool()>);
  boost::asio::awaitable<void> run_hosts(std::shared_ptr<Team> team, HostPart part);
  [[nodiscard]] bool goes_on(Team& team) const;
  /// Has the team's next poll called early when its inboxes change, if that is wanted and can be.
  /// False when there is nothing to watch (yet).
  bool keep_watch(const std::shared_ptr<Team>& team);
  /// One of the coroutines beside this team's polls has ended.
  void ended_beside(const std::string& name);
  /// Ends the service of this team after its poll under way.
  void let_go(const std::string& name);
  void tell_neighbour(const config::TeamConfig& config, const std::string& name);
  /// For what every look at the teams finds again.
  void warn_once(const std::string& text);

  Runtime& services_;
  std::vector<config::TeamConfig> configs_;
  SystemManager& manager_;
  boost::asio::steady_timer timer_;
  std::function<void()> look_after_;
  TaskGroup tasks_;
  std::unique_ptr<FolderWatch> watch_;
  std::map<std::string, std::string> unwatched_;  // by team: why only the timer sees what changes, as was told
  std::map<std::string, std::shared_ptr<Team>> teams_;
  std::set<std::string> leaving_;       // let go, with a poll still under way
  std::map<std::string, int> pushing_;  // how much runs beside a team's polls; no second Team of this name before all
                                        // of it has ended
  std::set<std::string> warned_;        // what was wrong at the last look at the teams
  std::set<std::string> wrong_;         // what is wrong at this one
  std::set<std::string> looked_for_;    // teams that were not there, and whose neighbours were looked at
  bool started_ = false;                // the first look is over
  bool stopping_ = false;
};

}  // namespace inbox_poller::poller

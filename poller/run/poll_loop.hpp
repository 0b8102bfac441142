// Finds the teams that the configurations name, and serves each by coroutines of its own until it vanishes. A slow team
// delays no other: all waiting is done in awaits, and large files are read on the pool.
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

/// Result of a reload, by team name or glob.
struct ReloadReport {
  std::vector<std::string> added, removed, changed;
  std::vector<std::string> restart;  // changed settings that need a restart
  std::vector<std::string> warnings = {};  // as check-config prints them
  std::vector<std::pair<std::string, handlers::Request>> answered = {};  // requests that the new rules decided, by team
};

/// Service of all teams. Decision thread only; `services` and `manager` must outlive this object.
class PollLoop {
 public:
  PollLoop(Runtime& services, std::vector<config::TeamConfig> configs, SystemManager& manager);

  /// Serves until stop(), or until every team was polled `polls` times. Throws the exception of a team's coroutine.
  boost::asio::awaitable<void> run(std::optional<unsigned> polls);
  /// Registers `look`, which is called twice a second, to check files that were opened once and may be removed.
  void look_after(std::function<void()> look) { look_after_ = std::move(look); }
  /// Makes run() return after the current polls.
  void stop();

  /// Replaces the configurations. The service of a team that no configuration names ends after its current poll. A team
  /// with another setting of same_foundation() ends too, and is found again. All other teams go on without a break.
  ReloadReport reload(std::vector<config::TeamConfig> configs);

  [[nodiscard]] const std::map<std::string, std::shared_ptr<Team>>& teams() const { return teams_; }
  [[nodiscard]] const std::vector<config::TeamConfig>& configs() const { return configs_; }

 private:
  void discover(std::optional<unsigned> polls);
  void adopt(const config::TeamConfig& config, const std::string& name, std::optional<unsigned> polls);
  boost::asio::awaitable<void> serve(std::shared_ptr<Team> team, std::optional<unsigned> polls);
  /// Starts the team's coroutines other than the polls (delivery, jobs, nodes), unless they run already.
  void push(const std::shared_ptr<Team>& team);
  boost::asio::awaitable<void> deliver(std::shared_ptr<Team> team);
  boost::asio::awaitable<void> run_jobs(std::shared_ptr<Team> team);
  /// Coroutine of a team on several nodes.
  using ClusterPart = boost::asio::awaitable<void> (ClusterMember::*)(std::function<bool()>);
  boost::asio::awaitable<void> run_cluster(std::shared_ptr<Team> team, ClusterPart part);
  [[nodiscard]] bool goes_on(Team& team) const;
  /// Makes a change of the inboxes start the team's next poll early, if configured and possible. False if the folder
  /// does not exist yet.
  bool keep_watch(const std::shared_ptr<Team>& team);
  /// Records that one of the coroutines of push() has ended.
  void ended_beside(const std::string& name);
  /// Ends the service of this team after its current poll.
  void drop_team(const std::string& name);
  /// Returns a warning if this team is missing and another has a similar name: a mistyped name would wait in vain.
  [[nodiscard]] std::string mistyped(const config::TeamConfig& config) const;
  /// Warns once about a problem that each scan for teams finds again.
  void warn_once(const std::string& text);

  Runtime& services_;
  std::vector<config::TeamConfig> configs_;
  SystemManager& manager_;
  boost::asio::steady_timer timer_;
  std::function<void()> look_after_;
  TaskGroup tasks_;
  std::unique_ptr<FolderWatch> watch_;
  std::map<std::string, std::string> unwatched_;  // by team: reported reason why only the timer finds changes
  std::map<std::string, std::shared_ptr<Team>> teams_;
  std::set<std::string> leaving_;       // teams that end after their current poll
  std::map<std::string, int> pushing_;  // number of coroutines of push(); a new Team of this name waits for their end
  std::set<std::string> warned_;        // problems of the last scan for teams
  std::set<std::string> wrong_;         // problems of the present scan
  std::set<std::string> looked_for_;    // missing teams that were compared with the existing ones
  bool started_ = false;                // the first scan is over
  bool stopping_ = false;
};

}  // namespace inbox_poller::poller

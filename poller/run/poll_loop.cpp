#include "poller/run/poll_loop.hpp"

#include <algorithm>
#include <stdexcept>

#include "poller/memory.hpp"
#include "poller/pause.hpp"
#include "schema/ids.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds look_for_teams_every{500};
constexpr std::chrono::milliseconds look_for_folder_every{5000};  // to watch a replaced folder; polls find it at once
constexpr std::chrono::milliseconds look_for_due_every{1000};  // a retry after a fault, a digest, a waiting message
constexpr std::chrono::milliseconds look_at_rest_every{5000};  // if nothing can come due

constexpr unsigned release_rounds = 20;

/// Finds the configuration of this team; there is at most one below a root.
const config::TeamConfig* find(const std::vector<config::TeamConfig>& configs, const std::string& root,
                               const std::string& team) {
  for (const auto& config : configs)
    if (config.team.root == root && config.team.claims(team)) return &config;
  return nullptr;
}

std::string hints_of(Team& team) {
  const auto& config = team.context().config;
  return system_of(config).hints_of(config, team.context().name);
}

std::string roster_hints_of(Team& team) {
  const auto& config = team.context().config;
  return system_of(config).roster_hints_of(config, team.context().name);
}

/// Compares the settings that a Team keeps for its lifetime. The others can be replaced while it runs.
bool same_foundation(const config::TeamConfig& a, const config::TeamConfig& b) {
  return a.team.root == b.team.root && a.team.backend == b.team.backend && a.team.folder == b.team.folder && a.team.redis == b.team.redis &&
         a.team.members == b.team.members && a.team.lead == b.team.lead &&
         a.team.role == b.team.role && a.team.tasks == b.team.tasks && a.shutdown.tmux == b.shutdown.tmux &&
         a.delivery.tmux.command == b.delivery.tmux.command && a.cluster == b.cluster && a.limits.inbox_file == b.limits.inbox_file;
}

/// Compares by team name or glob. Two configurations may have one name, for teams below different roots.
ReloadReport differences(const std::vector<config::TeamConfig>& old, const std::vector<config::TeamConfig>& fresh) {
  std::map<std::string, std::pair<std::vector<config::TeamConfig>, std::vector<config::TeamConfig>>> by_name;
  for (const auto& config : old) by_name[config.team.name].first.push_back(config);
  for (const auto& config : fresh) by_name[config.team.name].second.push_back(config);
  ReloadReport report;
  for (const auto& [name, configs] : by_name) {
    if (configs.first.empty()) {
      report.added.push_back(name);
    } else if (configs.second.empty()) {
      report.removed.push_back(name);
    } else if (configs.first != configs.second) {
      report.changed.push_back(name);
    }
  }
  return report;
}

}  // namespace

PollLoop::PollLoop(Runtime& services, std::vector<config::TeamConfig> configs, SystemManager& manager)
    : services_(services),
      configs_(std::move(configs)),
      manager_(manager),
      timer_(services.executor),
      tasks_(services.executor, [this] { stop(); }),
      watch_(make_folder_watch(services.executor)) {}

asio::awaitable<void> PollLoop::run(std::optional<unsigned> polls) {
  discover(polls);
  started_ = true;
  manager_.ready();
  for (unsigned rounds = 1; !stopping_; ++rounds) {
    // This loop feeds the watchdog, so that a hanging decision thread stops the feeding.
    manager_.alive(std::to_string(teams_.size()) + (teams_.size() == 1 ? " team served" : " teams served"));
    if (polls && teams_.empty() && rounds >= *polls) break;
    if (polls && !teams_.empty()) break;
    if (rounds % release_rounds == 0) release_free_memory();
    if (look_after_) look_after_();
    services_.ledger.checkpoint_if_due();
    timer_.expires_at(in_step(look_for_teams_every));
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (!stopping_) discover(polls);
  }
  co_await tasks_.join();
}

void PollLoop::stop() {
  stopping_ = true;
  timer_.cancel();
  for (const auto& [name, team] : teams_) {
    team->wake();
    if (team->cluster() != nullptr) team->cluster()->wake();
  }
}

ReloadReport PollLoop::reload(std::vector<config::TeamConfig> configs) {
  auto report = differences(configs_, configs);
  for (const auto& [name, team] : teams_) {
    if (leaving_.contains(name)) continue;
    const auto& root = team->context().config.team.root;
    const auto* before = find(configs_, root, name);
    const auto* after = find(configs, root, name);
    if (before == nullptr || after == nullptr || !same_foundation(*before, *after)) {
      const auto open = team->requests().shown().size();
      const auto counted = services_.ledger.deliveries().queued_count(name);
      const long long chat = counted ? *counted : 0;
      if (after == nullptr && (open > 0 || chat > 0))
        report.warnings.push_back("team " + name + " is not served any more, and keeps what waits: open requests " +
                                  std::to_string(open) + ", messages for its lead " + std::to_string(chat) +
                                  "; name it in a team file to serve it again");
      drop_team(name);
    } else if (*before != *after) {
      team->reconfigure(*after);
      for (auto& request : team->requests().judge_again()) report.answered.emplace_back(name, std::move(request));
    }
  }
  configs_ = std::move(configs);
  looked_for_.clear();
  for (const auto& one : configs_)
    if (auto odd = mistyped(one); !odd.empty() && looked_for_.insert(one.team.name).second)
      report.warnings.push_back(std::move(odd));
  timer_.cancel();
  return report;
}

void PollLoop::drop_team(const std::string& name) {
  leaving_.insert(name);
  auto& team = *teams_.at(name);
  team.wake();
  if (team.cluster() != nullptr) team.cluster()->wake();
}

void PollLoop::discover(std::optional<unsigned> polls) {
  wrong_.clear();
  for (const auto& config : configs_) {
    if (!config.team.is_glob()) {
      adopt(config, config.team.name, polls);
      continue;
    }
    const auto found = system_of(config).list(services_.files, config);
    if (!found) {
      warn_once(found.error().message);
      continue;
    }
    for (const auto& name : *found)
      if (config.team.claims(name)) adopt(config, name, polls);
  }
  warned_ = wrong_;  // a problem that ended is reported again if it returns
}

void PollLoop::adopt(const config::TeamConfig& config, const std::string& name, std::optional<unsigned> polls) {
  if (leaving_.contains(name)) return;  // a later scan finds it
  if (const auto served = teams_.find(name); served != teams_.end()) {
    if (served->second->context().config.team.root != config.team.root)
      warn_once("team \"" + name + "\" exists below " + served->second->context().config.team.root + " and below " +
                config.team.root +
                ": only the first is served, because requests and messages are kept by the team's name");
    return;
  }
  if (pushing_.contains(name)) return;  // a later scan finds it
  if (!schema::is_valid_name(name))
    return warn_once("\"" + name + "\" below " + config.team.root + " is not a name a team can have: left alone");
  const auto is_there = system_of(config).is_team(services_.files, config, name);
  if (!is_there) return warn_once(is_there.error().message);
  if (!*is_there) {
    if (const auto odd = looked_for_.insert(name).second ? mistyped(config) : ""; !odd.empty())
      services_.telemetry.emit(Event::daemon_warning, {{"reason", odd}});
    return;
  }

  auto team = std::make_shared<Team>(services_, config, name);
  if (auto restored = team->restore(); !restored) {
    // At the start, fail: no team is served yet. Later the other teams go on, and the next scan retries this one.
    if (!started_) throw std::runtime_error(restored.error().message);
    return warn_once("team \"" + name + "\" cannot be served: " + restored.error().message);
  }
  services_.telemetry.emit(
      Event::roster_appeared,
      {{"team", name}, {"path", system_of(config).location(config, name)}, {"source", config.source}});
  if (config.team.facts().folds_names && !schema::is_found_by_old_clients(name))
    services_.telemetry.emit(
        Event::daemon_warning,
        {{"team", name},
         {"reason",
          "old clients (2.1.50) look this team up in lower case with \"-\" for every other character, do not "
          "find it, and lose what its workers ask; give teams names of a-z, 0-9 and \"-\" only"}});
  teams_[name] = team;
  services_.changes.raise(all_areas);
  tasks_.spawn(serve(team, polls));
  push(team);
}

asio::awaitable<void> PollLoop::serve(std::shared_ptr<Team> team, std::optional<unsigned> polls) {
  const auto name = team->context().name;
  Tally& tally = services_.telemetry.tally(name);
  std::optional<bool> watched;  // setting at the last keep_watch()
  SteadyTime watch_again;
  auto polled = services_.clock.steady();
  for (unsigned done = 0; !stopping_ && (!polls || done < *polls); ++done) {
    const bool watch = team->context().config.team.watch;
    if (!polls &&
        (watched != watch || services_.clock.steady() >= watch_again)) {  // a bounded run polls by its interval only
      watched = keep_watch(team) ? std::optional(watch) : std::nullopt;
      watch_again = services_.clock.steady() + look_for_folder_every;
    }
    if (done > 0) co_await team->wait();
    if (leaving_.contains(name)) break;
    const auto started = services_.clock.steady();
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(started - std::exchange(polled, started));
    tally.polled(since, team->context().config.team.poll_interval, services_.clock.wall_ms());
    if (co_await team->poll() == Team::Polled::no_team) {
      services_.telemetry.emit(Event::roster_vanished, {{"team", name}});
      break;
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(services_.clock.steady() - started);
    if (took > std::max<std::chrono::milliseconds>(team->context().config.team.poll_interval, std::chrono::seconds(1)))
      services_.telemetry.emit(Event::poll_slow, {{"team", name}, {"latency_ms", std::to_string(took.count())}});
  }
  watch_->forget(hints_of(*team));
  watch_->forget(roster_hints_of(*team));
  unwatched_.erase(name);
  if (polls) co_await team->deliver();  // a bounded run also delivers what it accepted
  const std::function<bool()> given_up = [this] { return stopping_; };
  for (bool more = polls.has_value(); more && !stopping_;) more = co_await team->jobs(given_up);
  if (!stopping_) team->retire();
  teams_.erase(name);
  services_.changes.raise(all_areas);
  if (leaving_.erase(name) > 0) timer_.cancel();  // another configuration may name the team
}

void PollLoop::push(const std::shared_ptr<Team>& team) {
  const std::vector<ClusterPart> parts = team->cluster() == nullptr
                                          ? std::vector<ClusterPart>()
                                          : std::vector<ClusterPart>{&ClusterMember::keep_lease, &ClusterMember::send,
                                                                  &ClusterMember::receive};
  if (!pushing_.emplace(team->context().name, 2 + static_cast<int>(parts.size())).second) return;
  tasks_.spawn(deliver(team));
  tasks_.spawn(run_jobs(team));
  for (const auto part : parts) tasks_.spawn(run_cluster(team, part));
}

asio::awaitable<void> PollLoop::run_cluster(std::shared_ptr<Team> team, ClusterPart part) {
  std::function<bool()> given_up = [this, team] { return !goes_on(*team); };
  co_await (team->cluster()->*part)(std::move(given_up));
  ended_beside(team->context().name);
}

bool PollLoop::goes_on(Team& team) const {
  return !stopping_ && !team.retired() && !leaving_.contains(team.context().name);
}

void PollLoop::ended_beside(const std::string& name) {
  if (--pushing_.at(name) > 0) return;
  pushing_.erase(name);
  timer_.cancel();  // a new Team of this name may wait for this
}

asio::awaitable<void> PollLoop::deliver(std::shared_ptr<Team> team) {
  while (goes_on(*team)) {
    const auto seen = team->chat().count();
    co_await team->deliver();
    co_await team->chat().wait(seen, team->something_waits() ? look_for_due_every : look_at_rest_every);
  }
  ended_beside(team->context().name);
}

asio::awaitable<void> PollLoop::run_jobs(std::shared_ptr<Team> team) {
  const std::function<bool()> given_up = [this, team] { return !goes_on(*team); };
  while (goes_on(*team)) {
    const auto seen = team->chat().count();
    const bool more = co_await team->jobs(given_up);
    if (!more) co_await team->chat().wait(seen, team->something_waits() ? look_for_due_every : look_at_rest_every);
  }
  ended_beside(team->context().name);
}

bool PollLoop::keep_watch(const std::shared_ptr<Team>& team) {
  const auto& name = team->context().name;
  const auto folder = hints_of(*team), roster = roster_hints_of(*team);
  team->set_watch(false);
  if (folder.empty()) return true;  // this mailbox has no folder to watch
  if (!team->context().config.team.watch) {
    watch_->forget(folder);
    watch_->forget(roster);
    return true;
  }
  const auto notify = [team] { team->notify(); };
  auto watched = watch_->watch(folder, notify);
  if (watched && *watched == Watching::yes && !roster.empty()) watched = watch_->watch(roster, notify, Hints::of_all);
  if (watched && *watched == Watching::no_folder) return false;  // no message was written yet
  std::string reason;
  if (!watched) {
    reason = watched.error().message;
  } else if (const auto kind = network_file_system(folder); !kind.empty()) {
    reason = folder + " lies on " + kind + ", where only changes made on this machine are told at once";
  }
  auto& told = unwatched_[name];
  if (!reason.empty() && reason != told)
    services_.telemetry.emit(Event::daemon_warning,
                             {{"team", name}, {"reason", reason + "; all others are seen at the next poll_interval"}});
  team->set_watch(reason.empty());
  told = std::move(reason);
  return true;
}

std::string PollLoop::mistyped(const config::TeamConfig& config) const {
  if (config.team.is_glob()) return {};
  const std::string& name = config.team.name;
  const auto there = system_of(config).list(services_.files, config);
  if (!there || std::find(there->begin(), there->end(), name) != there->end()) return {};
  const auto meant = schema::did_you_mean(name, *there);
  return meant.empty() ? "" : "team \"" + name + "\" does not exist below " + config.team.root + " yet" + meant;
}

void PollLoop::warn_once(const std::string& text) {
  if (wrong_.insert(text).second && !warned_.contains(text))
    services_.telemetry.emit(Event::daemon_warning, {{"reason", text}});
}

}  // namespace inbox_poller::poller

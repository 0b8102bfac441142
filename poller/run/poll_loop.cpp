#include "poller/run/poll_loop.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "poller/run/pause.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds look_for_teams_every{500};

}  // namespace

PollLoop::PollLoop(Services& services, const std::vector<config::TeamConfig>& configs, ServiceManager& manager)
    : services_(services),
      configs_(configs),
      manager_(manager),
      timer_(services.executor),
      tasks_(services.executor, [this] { stop(); }) {}

asio::awaitable<void> PollLoop::run(std::optional<unsigned> polls) {
  discover(polls);
  manager_.ready();
  for (unsigned rounds = 1; !stopping_; ++rounds) {
    // Fed from here and not from a thread of its own: when decisions hang, so does this.
    manager_.alive(std::to_string(teams_.size()) + " teams served");
    if (polls && teams_.empty() && rounds >= *polls) break;
    if (polls && !teams_.empty()) break;
    timer_.expires_after(look_for_teams_every);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (!stopping_) discover(polls);
  }
  co_await tasks_.join();
}

void PollLoop::stop() {
  stopping_ = true;
  timer_.cancel();
  for (const auto& [name, team] : teams_) team->poke();
}

void PollLoop::discover(std::optional<unsigned> polls) {
  for (const auto& config : configs_) {
    const bool glob = config.team.name.find_first_of("*?[") != std::string::npos;
    if (!glob) {
      adopt(config, config.team.name, polls);
      continue;
    }
    auto root = services_.files.open_dir(absolute, config.team.root);
    if (!root) {
      if (!is_errno(root.error(), ENOENT)) warn_once(root.error().message);
      continue;
    }
    auto names = services_.files.list(*root);
    if (!names) {
      warn_once(names.error().message);
      continue;
    }
    std::sort(names->begin(), names->end());
    for (const auto& name : *names)
      if (::fnmatch(config.team.name.c_str(), name.c_str(), FNM_PERIOD) == 0) adopt(config, name, polls);
  }
}

void PollLoop::adopt(const config::TeamConfig& config, const std::string& name, std::optional<unsigned> polls) {
  if (const auto served = teams_.find(name); served != teams_.end()) {
    if (served->second->context().config.team.root != config.team.root)
      warn_once("team \"" + name + "\" exists below " + served->second->context().config.team.root + " and below " +
                config.team.root + ": only the first is served, because asks and messages are kept by the team's name");
    return;
  }
  if (!schema::is_valid_name(name))
    return warn_once("\"" + name + "\" below " + config.team.root + " is not a name a team can have: left alone");
  // A folder without a roster is not a team (yet).
  auto folder = services_.files.open_dir(absolute, config.team.root + "/" + name);
  if (!folder || !services_.files.stat_at(*folder, "config.json")) return;

  auto team = std::make_shared<Team>(services_, config, name);
  if (auto restored = team->restore(); !restored) throw std::runtime_error(restored.error().message);
  services_.telemetry.emit(Event::roster_appeared,
                           {{"team", name}, {"path", config.team.root + "/" + name}, {"source", config.source}});
  teams_[name] = team;
  tasks_.spawn(serve(team, polls));
  tasks_.spawn(deliver(team));
}

asio::awaitable<void> PollLoop::serve(std::shared_ptr<Team> team, std::optional<unsigned> polls) {
  const auto name = team->context().name;
  for (unsigned done = 0; !stopping_ && (!polls || done < *polls); ++done) {
    if (done > 0) co_await team->wait();
    const auto started = services_.clock.steady();
    if (co_await team->poll() == Team::Polled::no_team) {
      services_.telemetry.emit(Event::roster_vanished, {{"team", name}});
      break;
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(services_.clock.steady() - started);
    if (took > std::max<std::chrono::milliseconds>(team->context().config.team.poll_interval, std::chrono::seconds(1)))
      services_.telemetry.emit(Event::poll_slow, {{"team", name}, {"latency_ms", std::to_string(took.count())}});
  }
  if (polls) co_await team->deliver();  // a bounded run also hands over what it took in
  teams_.erase(name);
}

asio::awaitable<void> PollLoop::deliver(std::shared_ptr<Team> team) {
  if (!team->courier().has_push_sink()) co_return;
  const auto& name = team->context().name;
  const auto served = [&] { return !stopping_ && teams_.contains(name) && teams_.at(name) == team; };
  while (served()) {
    co_await team->deliver();
    co_await pause(
        std::min<std::chrono::milliseconds>(team->context().config.team.poll_interval, std::chrono::milliseconds(200)));
  }
}

void PollLoop::warn_once(const std::string& text) {
  if (warned_.insert(text).second) services_.telemetry.emit(Event::daemon_warning, {{"reason", text}});
}

}  // namespace inbox_poller::poller
